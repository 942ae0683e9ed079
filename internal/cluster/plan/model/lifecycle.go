package model

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func toggleHibernate(w *World, r *rand.Rand) string {
	w.Cluster.Spec.Hibernate = w.durable() && r.IntN(3) == 0
	return fmt.Sprintf("hibernate: %v", w.Cluster.Spec.Hibernate)
}

func toggleRetention(w *World, r *rand.Rand) string {
	policy := []v1beta2.RetentionPolicy{v1beta2.RetainVolumes, v1beta2.DeleteVolumes}[r.IntN(2)]
	w.Cluster.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: policy}
	return "volumes: " + string(policy)
}

func growVolumes(w *World, r *rand.Rand) string {
	if !w.durable() {
		return ""
	}
	size := []string{"8Gi", "16Gi", "32Gi"}[r.IntN(3)]
	w.Cluster.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}
	return "volumes of " + size
}

// resizeVolume is what the API server and the driver make of it.
func (w *World) resizeVolume(step steps.ResizeVolume) error {
	size := resource.MustParse(step.Size)
	v := w.volume(step.Name)
	if v == nil {
		return nil
	}
	if size.Value() < v.size {
		return fmt.Errorf("volume %s cannot shrink", v.name)
	}
	v.full = v.full && v.size == size.Value()
	v.size = size.Value()
	return nil
}

// FillVolumes fills the volumes of all members, which end and cannot start again until their volumes grow.
func (w *World) FillVolumes() {
	for i := range w.volumes {
		w.volumes[i].full = true
	}
	for i := range w.pods {
		if p := &w.pods[i]; p.state == state.PodRunning {
			p.state, p.reason, p.wrong = state.PodBlocked, v1beta2.ReasonPodFailing, noSpaceLeft
			w.unready(p)
		}
	}
	w.elect()
}

const noSpaceLeft = "no space left on device"

// checkSleep: a Pod is stopped for hibernation when that is asked for, and the leader after all others. Nothing runs in a Pod that has
// ended, so the leader does not wait until its object is deleted: the API server may refuse that.
func (w *World) checkSleep(l *life, p *pod) {
	if !w.Cluster.Spec.Hibernate || !w.durable() {
		w.violate(QuorumIsKept, "%s is stopped to hibernate, but spec.hibernate is false", p.name)
	}
	if e := l.entry(p.name); e == nil || l.leader != e.id || w.CutOff || w.AuthOn || w.hidden(e) { // nobody says who leads
		return
	}
	for _, other := range w.pods {
		if other.name != p.name && other.state != state.PodDeleting && other.state != state.PodEnded && other.incarnation == p.incarnation {
			w.violate(LeaderLast, "the leader %s is stopped before %s", p.name, other.name)
			return
		}
	}
}

// checkAsleep holds the world against what Asleep claims.
func (w *World) checkAsleep() {
	if len(w.pods) > 0 {
		w.violate(EveryRunSettles, "Hibernating is reported, but Pod %s exists", w.pods[0].name)
	}
	if !w.Cluster.Spec.Hibernate {
		w.violate(EveryRunSettles, "Hibernating is reported, but spec.hibernate is false")
	}
}

// checkVolumes of a cluster that is done.
func (w *World) checkVolumes(s state.State) {
	want := state.StorageRequest(s)
	for _, v := range w.volumes {
		if v.kept != w.Cluster.Spec.RetainsVolumes() {
			w.violate(EveryRunSettles, "Done is reported, but volume %s is marked as kept: %v", v.name, v.kept)
		}
		if !v.aside && v.size > 0 && v.size < want.Value() {
			w.violate(EveryRunSettles, "Done is reported, but volume %s has %d bytes", v.name, v.size)
		}
	}
}
