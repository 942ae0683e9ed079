package cluster

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// observeMembers reads the Pods and volumes that belong to the cluster.
func (r *Reconciler) observeMembers(ctx context.Context, v *view) error {
	pods, err := r.candidates(ctx, v, &corev1.PodList{})
	if err != nil {
		return err
	}
	volumes, err := r.candidates(ctx, v, &corev1.PersistentVolumeClaimList{})
	if err != nil {
		return err
	}
	members := map[string]*plan.Member{}
	named := func(object client.Object) *plan.Member {
		m := members[object.GetName()]
		if m == nil {
			m = &plan.Member{Name: object.GetName(), Incarnation: incarnationOf(v.State, object)}
			members[object.GetName()] = m
		}
		if size, err := strconv.Atoi(object.GetAnnotations()[annotationInitialSize]); err == nil {
			m.InitialSize = size
		}
		return m
	}
	for _, object := range volumes {
		if volume, ok := object.(*corev1.PersistentVolumeClaim); ok && v.owns(volume) && !isSetAside(volume) {
			m := named(volume)
			observeVolume(m, volume)
			m.VolumeUnlabelled = v.unlabelled(volume)
			v.classes[volume.Name] = ptr.Deref(volume.Spec.StorageClassName, "")
		}
	}
	for _, object := range pods {
		pod, ok := object.(*corev1.Pod)
		if ok && !v.owns(pod) && mistakable(v, pod) {
			v.noteForeign("Pod", pod)
		}
		if ok && v.owns(pod) {
			m := named(pod)
			observePod(m, pod, v.Now)
			observeTemplate(v.State, m, pod)
			observeResize(v.State, m, pod)
			m.Unlabelled, m.WithoutUID = v.unlabelled(pod), pod.Labels[v1beta2.LabelClusterUID] != string(v.UID)
			v.addresses[pod.Name] = pod.Status.PodIP
			v.require(pod)
		}
	}
	for _, m := range members {
		v.Members = append(v.Members, *m)
	}
	v.CorrectIncarnation()
	return nil
}

// mistakable reports whether Services and budgets of the cluster select the Pod of something else, such as a member that
// an earlier EtcdCluster of the same name left.
func mistakable(v *view, pod *corev1.Pod) bool {
	ended := hasEnded(pod)
	return !ended && pod.Labels[v1beta2.LabelApp] == v1beta2.AppName && pod.Labels[v1beta2.LabelCluster] == v.Name
}

// incarnationOf an object is in its name, and else in its label. Without both it is the first: no operator before this
// one made others.
func incarnationOf(s plan.State, object client.Object) int32 {
	n, err := strconv.ParseInt(object.GetLabels()[v1beta2.LabelIncarnation], 10, 32)
	if err == nil && s.Named(object.GetName(), int32(n)) {
		return int32(n)
	}
	if named, ok := s.IncarnationNamed(object.GetName()); ok {
		return named
	}
	if err != nil {
		return plan.FirstIncarnation
	}
	return int32(n)
}

func volumeOf(volume *corev1.PersistentVolumeClaim) plan.VolumeState {
	if !volume.DeletionTimestamp.IsZero() {
		return plan.VolumeDeleting
	}
	if volume.Status.Phase == corev1.ClaimLost {
		return plan.VolumeLost
	}
	return plan.VolumePresent
}

func observePod(m *plan.Member, pod *corev1.Pod, now time.Time) {
	m.Node, m.Zone = pod.Spec.NodeName, pod.Labels[corev1.LabelTopologyZone]
	m.InService, m.PodCreated = pod.Labels[labelVoter] == "true", pod.CreationTimestamp.Time
	m.Start, m.MayStartEmpty = startOf(pod), mayStartEmpty(pod)
	m.Waits, m.Ran, m.AddressSince = waits(pod), ran(pod), addressSince(pod)
	m.Trust, m.Loaded = pod.Annotations[annotationTrust], pod.Annotations[annotationLoaded]
	for _, c := range pod.Spec.Containers {
		if c.Name == plan.EtcdContainer {
			m.PodImage, m.Peers = cmp.Or(pod.Annotations[annotationImage], c.Image), peersOf(c.Command, pod.Annotations[annotationInitialCluster])
			m.SecurePeer, m.SecureClient = tlsOf(c.Command)
			m.ChecksPeers, m.ChecksClients = checksName(c.Command, peerNameFlag), checksName(c.Command, clientNameFlag)
			m.PodQuota, m.ProbesAlarm = quotaOf(c), probesAlarm(c)
		}
	}
	m.DataInPod = slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == dataVolume && v.EmptyDir != nil })
	m.UnreadySince = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			m.PodReady, m.UnreadySince = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
			if gateClosed(c) {
				m.PodReady, m.Gate, m.GateSince = true, cmp.Or(c.Message, c.Reason), c.LastTransitionTime.Time
			}
		}
	}
	if m.PodReady {
		m.UnreadySince = time.Time{}
	} else if m.Beside = besideUnready(pod); m.Beside != "" {
		m.BesideSince = m.UnreadySince
	}
	if pod.DeletionTimestamp != nil {
		m.GoneBy = pod.DeletionTimestamp.Time
		// A kubelet gives a Pod that is being deleted a final phase when its containers have ended for good, some time
		// before the volumes are unmounted and the object goes.
		m.Stopped = hasStopped(pod)
		m.Held, m.Finalizers = ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0, strings.Join(pod.Finalizers, ", ")
	}
	m.Terminated = provenEnded(pod)
	m.StartupBudget = startupBudget(pod)
	m.NodeSilent = nodeSilent(pod)
	m.Seed = seedOf(pod)
	m.Pod, m.PodReason, m.PodMessage = plan.PodStateOf(pod, now)
	for _, c := range pod.Status.ContainerStatuses {
		blocked := c.Name == plan.EtcdContainer && m.Pod == plan.PodBlocked
		m.Corrupt = m.Corrupt || (blocked && plan.SaysCorrupt(c))
		if blocked {
			m.NeedsMinor = plan.SaysTooOld(c)
		}
		if running := c.State.Running; running != nil && c.Name == plan.EtcdContainer {
			m.EtcdSince = running.StartedAt.Time
		}
		m.Empty = m.Empty || (blocked && plan.SaysEmpty(c))
	}
}

// startOf is how a Pod's etcd comes up. A Pod can lose its annotations, and its command cannot change. A Pod whose flag is not seen would
// keep it: if etcd restarts in place, it removes the members that were added since, while these continue without it.
func startOf(pod *corev1.Pod) plan.Start {
	for _, c := range pod.Spec.Containers {
		if c.Name == plan.EtcdContainer && slices.Contains(c.Command, forceFlag) {
			return plan.StartForce
		}
	}
	return plan.Start(pod.Annotations[annotationStart])
}

// hasStopped returns whether the kubelet of a Pod that is being deleted has confirmed that nothing of it runs any more.
func hasStopped(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && hasEnded(pod)
}

// hasEnded reports whether the containers of a Pod have ended for good.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// startupBudget is how long the startup probe of etcd lets it take, while that probe has not succeeded; 0 afterwards.
func startupBudget(pod *corev1.Pod) time.Duration {
	starting := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == plan.EtcdContainer && c.State.Running != nil && !ptr.Deref(c.Started, true)
	})
	for _, c := range pod.Spec.Containers {
		if starting && c.Name == plan.EtcdContainer && c.StartupProbe != nil {
			return time.Duration(c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds) * time.Second
		}
	}
	return 0
}

// gateClosed returns whether a condition Ready is False only because a readiness gate is not True. The operator sets no
// gates, but load balancer controllers add them by a webhook. etcd serves nevertheless. How long it may not serve is
// then counted from when the operator first got no answer (see silence).
func gateClosed(ready corev1.PodCondition) bool {
	return ready.Status == corev1.ConditionFalse && ready.Reason == "ReadinessGatesNotReady" // as the kubelet writes it
}

// besideUnready names the containers that are not ready beside an etcd that is. It is empty if etcd itself is not ready.
func besideUnready(pod *corev1.Pod) string {
	var unready []string
	etcdReady := false
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch {
		case c.Name == plan.EtcdContainer:
			etcdReady = c.Ready
		case !c.Ready:
			unready = append(unready, c.Name)
		}
	}
	switch {
	case !etcdReady || len(unready) == 0:
		return ""
	case len(unready) == 1:
		return "container " + unready[0] + " is not ready"
	}
	return "containers " + strings.Join(unready, ", ") + " are not ready"
}

// quotaOf is Member.PodQuota of a container.
func quotaOf(c corev1.Container) *int64 {
	said := ""
	for _, e := range c.Env {
		if e.Name == plan.QuotaVariable {
			said = e.Value
			if e.ValueFrom != nil {
				return ptr.To[int64](0)
			}
		}
	}
	for _, arg := range c.Command {
		if value, ok := strings.CutPrefix(arg, quotaFlag); ok {
			said = value
		}
	}
	if said == "" {
		return ptr.To(int64(etcd.DefaultQuota))
	}
	quota, err := strconv.ParseInt(said, 10, 64)
	if err == nil && quota == 0 {
		quota = etcd.DefaultQuota
	}
	return &quota // 0 for what is no number
}

// nodeSilent returns whether the Pod's node does not answer. Kubernetes then makes the condition Ready False, and leaves
// ContainersReady and the containers as the kubelet last reported them. A kubelet writes all of them, and gives the
// condition another reason if a readiness gate is not True.
func nodeSilent(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if !c.Ready {
			return false
		}
	}
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && gateClosed(c) {
			return false
		}
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
