package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// seenOfPod is all that passes read of a cached Pod.
type seenOfPod struct {
	Member     state.Member
	Required   map[string]string
	Mistakable bool
	Keys       []string
	Relabel    map[string]any
	Memory     resource.Quantity
	Wanted     bool
}

func seeing(s state.State, pod *corev1.Pod) seenOfPod {
	v := &view.View{State: s}
	v.Now = pod.CreationTimestamp.Add(time.Hour)
	m := state.Member{Name: pod.Name, Incarnation: pods.IncarnationOf(v.State, pod)}
	pods.ObservePod(&m, pod, v.Now)
	pods.ObserveTemplate(v.State, &m, pod)
	pods.ObserveResize(v.State, &m, pod)
	require(v, pod)
	return seenOfPod{m, v.Required, mistakable(v, pod), kubecache.KeysOf(pod), pods.RelabelPatch(v.State, pod), dryrun.UsedBy(pod, "limits.memory"), pods.Unlabelled(v.State, pod)}
}

// statuses that a Pod may have.
func statuses() map[string]corev1.PodStatus {
	now := metav1.NewTime(plantest.Noon)
	conditions := func(ready corev1.PodCondition) []corev1.PodCondition {
		ready.Type, ready.LastTransitionTime = corev1.PodReady, now
		return []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, ready,
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: "too large"},
		}
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "panic: walpb: crc mismatch", FinishedAt: now}}
	return map[string]corev1.PodStatus{
		"new":  {},
		"lost": {Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."},
		"running": {Phase: corev1.PodRunning, PodIP: "192.0.2.1", StartTime: &now, Conditions: conditions(corev1.PodCondition{Status: corev1.ConditionTrue}), ContainerStatuses: []corev1.ContainerStatus{{
			Name: lifecycle.EtcdContainer, Ready: true, State: runs, Started: ptr.To(false), Resources: &corev1.ResourceRequirements{Limits: memory}, AllocatedResources: memory,
		}, {Name: "proxy", Image: "proxy:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}},
		"gate closed": {Phase: corev1.PodRunning, Conditions: conditions(corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: "load balancer"})},
		"crashing": {Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: failed,
		}}},
		"restores":      {PodIP: "192.0.2.1", StartTime: &now, InitContainerStatuses: []corev1.ContainerStatus{{Name: pods.SeedContainer, RestartCount: 3, State: failed}}},
		"unschedulable": {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no node fits"}}},
	}
}

func TestAPassSeesTheSameInACachedPodAsInTheWholePod(t *testing.T) {
	for name, test := range clustertest.PodTests {
		for status, of := range statuses() {
			for _, outdated := range []bool{false, true} {
				pod := pods.NewPod(test.State, test.Member, clustertest.SeedImage)
				pod.CreationTimestamp, pod.Status = metav1.NewTime(plantest.Noon.Add(-time.Minute)), of
				pod.Annotations[pods.AnnotationResize] = `{"template":"other"}`
				pod.Spec.NodeName, pod.Labels[corev1.LabelTopologyZone] = "node-1", "zone-1"
				limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
				pod.Spec.Overhead, pod.Spec.Containers[0].Resources.Limits = limits, limits
				for i := range pod.Spec.InitContainers {
					pod.Spec.InitContainers[i].Resources.Limits = limits
				}
				if outdated {
					pod.Annotations[pods.AnnotationTemplate] = "1-other"
				}
				want := seeing(test.State, pod.DeepCopy())
				cached, err := kubecache.Strip(pod.DeepCopy())
				slimmed, ok := cached.(*corev1.Pod)
				if err != nil || !ok {
					t.Fatalf("the cache holds %T, %v", cached, err)
				}
				if got := seeing(test.State, slimmed); !cmp.Equal(got, want) {
					t.Errorf("%s, %s: what a pass sees in the cached Pod differs:\n%s", name, status, cmp.Diff(want, got))
				}
			}
		}
	}
}
