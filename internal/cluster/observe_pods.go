package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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
	members := map[string]*Member{}
	named := func(object client.Object) *Member {
		m := members[object.GetName()]
		if m == nil {
			m = &Member{Name: object.GetName(), Incarnation: incarnationOf(object)}
			members[object.GetName()] = m
		}
		if size, err := strconv.Atoi(object.GetAnnotations()[annotationInitialSize]); err == nil {
			m.InitialSize = size
		}
		return m
	}
	for i := range volumes.Items {
		if volume := &volumes.Items[i]; v.owns(volume) {
			named(volume).observeVolume(volume)
			v.classes[volume.Name] = ptr.Deref(volume.Spec.StorageClassName, "")
		}
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, v.cluster) {
			m := named(pod)
			m.observePod(pod, r.Now())
			v.observeTemplate(m, pod)
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
		return firstIncarnation
	}
	return int32(n)
}

func volumeOf(volume *corev1.PersistentVolumeClaim) Volume {
	if !volume.DeletionTimestamp.IsZero() {
		return VolumeDeleting
	}
	return VolumePresent
}

func (m *Member) observePod(pod *corev1.Pod, now time.Time) {
	m.Exposed = pod.Labels[labelVoter] == "true"
	m.Start = Start(pod.Annotations[annotationStart])
	m.Trust, m.Loaded = pod.Annotations[annotationTrust], pod.Annotations[annotationLoaded]
	for _, c := range pod.Spec.Containers {
		if c.Name == etcdContainer {
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
	m.Seed = seedOf(pod)
	m.Pod, m.PodReason, m.PodMessage = podOf(pod, now)
	for _, c := range pod.Status.ContainerStatuses {
		m.Corrupt = m.Corrupt || (c.Name == etcdContainer && m.Pod == PodBlocked && corrupt(c))
	}
}

// scheduling is how long a scheduler may take to find a place, or to learn of the volume, before it is news.
const scheduling = 10 * time.Second

// podOf says how a Pod stands and, where it cannot start, why.
func podOf(pod *corev1.Pod, now time.Time) (state Pod, reason, message string) {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return PodDeleting, "", ""
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return PodEnded, v1beta2.ReasonPodFailing, strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && now.Sub(pod.CreationTimestamp.Time) > scheduling {
			return PodBlocked, v1beta2.ReasonPodUnschedulable, c.Message
		}
	}
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if reason, message := whyWaiting(c); reason != "" {
			return PodBlocked, reason, message
		}
		if c.Name == etcdContainer && c.State.Running != nil {
			return PodRunning, "", ""
		}
	}
	return PodStarting, "", ""
}

// whyWaiting names what keeps a container from starting, beyond its turn.
func whyWaiting(c corev1.ContainerStatus) (reason, message string) {
	waiting := c.State.Waiting
	if waiting == nil {
		return "", ""
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return v1beta2.ReasonImageUnavailable, fmt.Sprintf("image %s cannot be had (%s): correct spec.repository or spec.version, or make the image available to the host", c.Image, waiting.Reason)
	case "CrashLoopBackOff":
		said := ""
		if ended := c.LastTerminationState.Terminated; ended != nil {
			said = fmt.Sprintf(", last with exit code %d: %s", ended.ExitCode, lastWords(ended.Message))
		}
		return v1beta2.ReasonPodFailing, fmt.Sprintf("container %s keeps ending%s", c.Name, said)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return v1beta2.ReasonPodFailing, fmt.Sprintf("container %s: %s: %s", c.Name, waiting.Reason, waiting.Message)
	}
	return "", ""
}

// seedOf reads how the init container that restores a snapshot fares.
func seedOf(pod *corev1.Pod) *Seed {
	for _, c := range pod.Status.InitContainerStatuses {
		if c.Name != seedContainer {
			continue
		}
		s := &Seed{Failures: c.RestartCount}
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		} else if ended.ExitCode != seed.ExitDone {
			s.Failures++
		}
		if ended != nil && ended.ExitCode != seed.ExitDone {
			s.Message = lastLine(ended.Message)
			s.Hopeless = ended.ExitCode == seed.ExitNever
		}
		if done := c.State.Terminated; done != nil && done.ExitCode == seed.ExitDone {
			s.DoneAt = done.FinishedAt.Time
		}
		return s
	}
	return nil
}

// maxMessage bounds what a container's words take of a condition.
const maxMessage = 512

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return bounded(text)
}

func bounded(text string) string {
	if len(text) > maxMessage {
		return text[:maxMessage]
	}
	return text
}
