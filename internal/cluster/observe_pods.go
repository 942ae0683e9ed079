package cluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// observeMembers reads the Pods and volumes that belong to the cluster.
func (r *Reconciler) observeMembers(ctx context.Context, v *view) error {
	ours := []client.ListOption{client.InNamespace(v.Namespace), client.MatchingLabels{v1beta2.LabelCluster: v.Name}}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, ours...); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	var volumes corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &volumes, ours...); err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	members := map[string]*plan.Member{}
	named := func(object client.Object) *plan.Member {
		m := members[object.GetName()]
		if m == nil {
			m = &plan.Member{Name: object.GetName(), Incarnation: incarnationOf(object)}
			members[object.GetName()] = m
		}
		if size, err := strconv.Atoi(object.GetAnnotations()[annotationInitialSize]); err == nil {
			m.InitialSize = size
		}
		return m
	}
	for i := range volumes.Items {
		if volume := &volumes.Items[i]; v.owns(volume) && !isSetAside(volume) {
			observeVolume(named(volume), volume)
			v.classes[volume.Name] = ptr.Deref(volume.Spec.StorageClassName, "")
		}
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, v.cluster) {
			m := named(pod)
			observePod(m, pod, v.Now)
			observeTemplate(v.State, m, pod)
			v.addresses[pod.Name] = pod.Status.PodIP
		}
	}
	for _, m := range members {
		v.Members = append(v.Members, *m)
	}
	return nil
}

// incarnationOf an object without the label is the first: no operator before this one made others.
func incarnationOf(object client.Object) int32 {
	n, err := strconv.ParseInt(object.GetLabels()[v1beta2.LabelIncarnation], 10, 32)
	if err != nil {
		return plan.FirstIncarnation
	}
	return int32(n)
}

func volumeOf(volume *corev1.PersistentVolumeClaim) plan.VolumeState {
	if !volume.DeletionTimestamp.IsZero() {
		return plan.VolumeDeleting
	}
	return plan.VolumePresent
}

func observePod(m *plan.Member, pod *corev1.Pod, now time.Time) {
	m.InService = pod.Labels[labelVoter] == "true"
	m.Start = plan.Start(pod.Annotations[annotationStart])
	m.Trust, m.Loaded = pod.Annotations[annotationTrust], pod.Annotations[annotationLoaded]
	for _, c := range pod.Spec.Containers {
		if c.Name == plan.EtcdContainer {
			m.PodImage, m.Peers = c.Image, peersOf(c.Command)
			m.SecurePeer, m.SecureClient = tlsOf(c.Command)
		}
	}
	m.UnreadySince = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			m.PodReady, m.UnreadySince = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	if m.PodReady {
		m.UnreadySince = time.Time{}
	}
	if pod.DeletionTimestamp != nil {
		m.GoneBy = pod.DeletionTimestamp.Time
		// A kubelet gives a Pod that is being deleted a final phase when its containers have ended for good, some time
		// before the volumes are unmounted and the object goes.
		m.Stopped = pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	}
	m.NodeSilent = nodeSilent(pod)
	m.Seed = seedOf(pod)
	m.Pod, m.PodReason, m.PodMessage = plan.PodStateOf(pod, now)
	for _, c := range pod.Status.ContainerStatuses {
		m.Corrupt = m.Corrupt || (c.Name == plan.EtcdContainer && m.Pod == plan.PodBlocked && plan.SaysCorrupt(c))
	}
}

// nodeSilent returns whether the Pod's node does not answer. Kubernetes then makes the condition Ready False, and leaves
// ContainersReady and the containers as the kubelet last reported them. A kubelet writes all of them, and a member has
// no readiness gates.
func nodeSilent(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if !c.Ready {
			return false
		}
	}
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		conditions[c.Type] = c.Status
	}
	return pod.Status.Phase == corev1.PodRunning && conditions[corev1.PodReady] == corev1.ConditionFalse && conditions[corev1.ContainersReady] == corev1.ConditionTrue
}

// seedOf reads how the init container that restores a snapshot fares.
func seedOf(pod *corev1.Pod) *plan.Seed {
	for _, c := range pod.Status.InitContainerStatuses {
		if c.Name != seedContainer {
			continue
		}
		s := &plan.Seed{Failures: c.RestartCount}
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		} else if ended.ExitCode != seed.ExitDone {
			s.Failures++
		}
		if ended != nil && ended.ExitCode != seed.ExitDone {
			s.Message = plan.LastLine(ended.Message)
			s.Hopeless = ended.ExitCode == seed.ExitNever
		}
		if done := c.State.Terminated; done != nil && done.ExitCode == seed.ExitDone {
			s.DoneAt = done.FinishedAt.Time
		}
		return s
	}
	return nil
}
