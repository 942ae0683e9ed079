package pods

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// StopGrace in seconds for members that all stop at once: none of their leaders finds another to take over. etcd's log
// is safe against being killed.
const StopGrace = 1

// ProvenEnded reports whether all containers of a Pod have ended for good, as its kubelet has seen. If its node does not exist, the garbage
// collector of Kubernetes sets the phase, and a process may still run there.
func ProvenEnded(pod *corev1.Pod) bool {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	return HasEnded(pod) && len(pod.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(pod.Status.ContainerStatuses, runs)
}

// ran reports whether the container of etcd has run in a Pod.
func ran(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == lifecycle.EtcdContainer && (c.RestartCount > 0 || c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
	})
}

// AddressSince is since when a Pod has an address, and zero if it has none.
func AddressSince(pod *corev1.Pod) time.Time {
	if pod.Status.PodIP == "" {
		return time.Time{}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// ObservePod writes into a member what its live Pod shows.
func ObservePod(m *state.Member, pod *corev1.Pod, now time.Time) {
	m.Node, m.Zone = pod.Spec.NodeName, pod.Labels[corev1.LabelTopologyZone]
	m.InService, m.PodCreated = pod.Labels[LabelVoter] == "true", pod.CreationTimestamp.Time
	m.Start, m.MayStartEmpty = StartOf(pod), mayStartEmpty(pod)
	m.Waits, m.Ran, m.AddressSince = Waits(pod), ran(pod), AddressSince(pod)
	m.Trust, m.Loaded = pod.Annotations[annotationTrust], pod.Annotations[AnnotationLoaded]
	for _, c := range pod.Spec.Containers {
		if c.Name == lifecycle.EtcdContainer {
			m.PodImage, m.Peers = cmp.Or(pod.Annotations[annotationImage], c.Image), command.PeersOf(c.Command, pod.Annotations[AnnotationInitialCluster])
			m.SecurePeer, m.SecureClient = command.TLSOf(c.Command)
			m.ChecksPeers, m.ChecksClients = command.ChecksName(c.Command, command.PeerNameFlag), command.ChecksName(c.Command, command.ClientNameFlag)
			m.PodQuota, m.ProbesAlarm, m.ReadyAlone = command.QuotaOf(c), ProbesAlarm(c), ReadyAlone(c)
		}
	}
	m.DataInPod = slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == DataVolume && v.EmptyDir != nil })
	m.UnreadySince = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			m.PodReady, m.UnreadySince = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
			if gateClosed(c) {
				m.PodReady, m.Gate, m.GateSince = true, cmp.Or(c.Message, c.Reason), c.LastTransitionTime.Time
			}
		}
	}
	m.UnreadySince = state.Later(m.UnreadySince, m.PodCreated) // the clock of the node may be behind
	if m.PodReady {
		m.UnreadySince = time.Time{}
	} else if m.Beside = besideUnready(pod); m.Beside != "" {
		m.BesideSince = m.UnreadySince
	}
	if pod.DeletionTimestamp != nil {
		m.GoneBy = pod.DeletionTimestamp.Time
		// A kubelet gives a Pod that is being deleted a final phase when its containers have ended for good, some time
		// before the volumes are unmounted and the object goes.
		m.Stopped = HasStopped(pod)
		m.Held, m.Finalizers = ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0, strings.Join(pod.Finalizers, ", ")
	}
	m.Terminated = ProvenEnded(pod)
	m.StartupBudget = startupBudget(pod)
	m.NodeSilent = nodeSilent(pod)
	m.Seed = seedOf(pod)
	m.Pod, m.PodReason, m.PodMessage = lifecycle.PodStateOf(pod, now)
	for _, c := range pod.Status.ContainerStatuses {
		blocked := c.Name == lifecycle.EtcdContainer && m.Pod == state.PodBlocked
		m.Corrupt = m.Corrupt || (blocked && lifecycle.SaysCorrupt(c))
		if blocked {
			m.NeedsMinor = lifecycle.SaysTooOld(c)
		}
		if running := c.State.Running; running != nil && c.Name == lifecycle.EtcdContainer {
			m.EtcdSince = running.StartedAt.Time
		}
		m.Empty = m.Empty || (blocked && lifecycle.SaysEmpty(c))
	}
}

// StartOf is how a Pod's etcd comes up. A Pod can lose its annotations, and its command cannot change. A Pod whose flag is not seen would
// keep it: if etcd restarts in place, it removes the members that were added since, while these continue without it.
func StartOf(pod *corev1.Pod) state.Start {
	for _, c := range pod.Spec.Containers {
		if c.Name == lifecycle.EtcdContainer && slices.Contains(c.Command, command.ForceFlag) {
			return state.StartForce
		}
	}
	return state.Start(pod.Annotations[AnnotationStart])
}

// HasStopped returns whether the kubelet of a Pod that is being deleted has confirmed that nothing of it runs any more.
func HasStopped(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && HasEnded(pod)
}

// HasEnded reports whether the containers of a Pod have ended for good.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// startupBudget is how long the startup probe of etcd lets it take, while that probe has not succeeded; 0 afterwards.
func startupBudget(pod *corev1.Pod) time.Duration {
	starting := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == lifecycle.EtcdContainer && c.State.Running != nil && !ptr.Deref(c.Started, true)
	})
	for _, c := range pod.Spec.Containers {
		if starting && c.Name == lifecycle.EtcdContainer && c.StartupProbe != nil {
			return time.Duration(c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds) * time.Second
		}
	}
	return 0
}
