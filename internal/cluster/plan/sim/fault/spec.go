package fault

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

func resize(w *world.World, r *rand.Rand) string {
	w.Cluster.Spec.Size = 1 + r.IntN(7)
	return fmt.Sprintf("size %d", w.Cluster.Spec.Size)
}

// Resize asks for other CPU and memory.
func Resize(w *world.World, fate world.ResizeFate) {
	w.Resources++
	w.Nodes = fate
}

func newVersion(w *world.World, r *rand.Rand) string {
	versions := []string{world.Version, world.Version, "3.6.15", "3.6.17", "3.5.20", "3.5.35", "3.7.3", "3.7.3", "3.8.0"}
	w.Cluster.Spec.Version = versions[r.IntN(len(versions))]
	return "version " + w.Cluster.Spec.Version
}

func newTemplate(w *world.World, _ *rand.Rand) string {
	w.Template++
	return fmt.Sprintf("template %d", w.Template)
}

// badTemplate asks for Pods that cannot start.
func badTemplate(w *world.World, _ *rand.Rand) string {
	w.Template++
	w.BadTemplate = w.Template
	return fmt.Sprintf("bad template %d", w.Template)
}

func newLabels(w *world.World, _ *rand.Rand) string {
	w.Labels++
	return fmt.Sprintf("labels %d", w.Labels)
}

func badImage(w *world.World, _ *rand.Rand) string {
	w.BadImage = w.Cluster.Spec.Version
	return "no image " + w.BadImage
}

func goodImage(w *world.World, _ *rand.Rand) string {
	w.BadImage = ""
	return "all images"
}

// consent gives the consent to go on from one survivor, or takes it back.
func consent(w *world.World, _ *rand.Rand) string {
	if w.Cluster.Spec.Recovery == nil && w.Durable() {
		w.Cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		return "consent"
	}
	w.Cluster.Spec.Recovery = nil
	return "no consent"
}

func togglePause(w *world.World, _ *rand.Rand) string {
	w.Cluster.Spec.Paused = !w.Cluster.Spec.Paused
	return fmt.Sprintf("paused: %v", w.Cluster.Spec.Paused)
}

func toggleReadOnly(w *world.World, r *rand.Rand) string {
	w.Cluster.Spec.ReadOnly = r.IntN(2) == 0
	return fmt.Sprintf("read-only: %v", w.Cluster.Spec.ReadOnly)
}

func toggleHibernate(w *world.World, r *rand.Rand) string {
	w.Cluster.Spec.Hibernate = w.Durable() && r.IntN(3) == 0
	return fmt.Sprintf("hibernate: %v", w.Cluster.Spec.Hibernate)
}

func toggleRetention(w *world.World, r *rand.Rand) string {
	policy := []v1beta2.RetentionPolicy{v1beta2.RetainVolumes, v1beta2.DeleteVolumes}[r.IntN(2)]
	w.Cluster.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: policy}
	return "volumes: " + string(policy)
}

func growVolumes(w *world.World, r *rand.Rand) string {
	if !w.Durable() {
		return ""
	}
	size := []string{"8Gi", "16Gi", "32Gi"}[r.IntN(3)]
	w.Cluster.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}
	return "volumes of " + size
}

// moveToVolumes removes spec.pod.emptyDir, so that members on volumes replace those with their data in their Pods.
func moveToVolumes(w *world.World, _ *rand.Rand) string {
	if w.Durable() || w.Formed() == nil {
		return ""
	}
	w.Cluster.Spec.Pod.EmptyDir = nil
	w.Template++
	return "data onto volumes"
}

// BadEnv changes spec.pod.etcdEnv to what etcd refuses to start with.
func BadEnv(w *world.World) { badTemplate(w, nil) }

// askAbout annotates the EtcdCluster with the name of a member, or removes the annotation.
func askAbout(w *world.World, r *rand.Rand) string {
	keys := []string{v1beta2.AnnotationReplace, v1beta2.AnnotationMoveLeader, v1beta2.AnnotationFence}
	key, p := keys[r.IntN(len(keys))], anyPod(w, r)
	if p == nil || r.IntN(3) == 0 {
		annotate(w, key, "")
		return key + " nothing"
	}
	value := p.Name
	if other := anyPod(w, r); r.IntN(2) == 0 {
		value += "," + other.Name
	}
	annotate(w, key, value)
	return key + " " + value
}

// resizeFaults are added to all others in a world that resizes.
var resizeFaults = []fault{changeResources, changeResources, changeResources, changeNodes}

func changeResources(w *world.World, _ *rand.Rand) string {
	Resize(w, w.Nodes)
	return fmt.Sprintf("resources %d", w.Resources)
}

func changeNodes(w *world.World, r *rand.Rand) string {
	w.Nodes = world.ResizeFate(r.IntN(int(world.ResizeFates)))
	return fmt.Sprintf("resizes end with fate %d", w.Nodes)
}
