package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// seenOfPod is all that passes read of a cached Pod.
type seenOfPod struct {
	Member     plan.Member
	Required   map[string]string
	Mistakable bool
	Keys       []string
	Relabel    map[string]any
	Memory     resource.Quantity
	Wanted     bool
}

func seeing(s plan.State, pod *corev1.Pod) seenOfPod {
	v := &view{State: s}
	v.Now = pod.CreationTimestamp.Add(time.Hour)
	m := plan.Member{Name: pod.Name, Incarnation: incarnationOf(v.State, pod)}
	observePod(&m, pod, v.Now)
	observeTemplate(v.State, &m, pod)
	observeResize(v.State, &m, pod)
	v.require(pod)
	return seenOfPod{m, v.required, mistakable(v, pod), keysOf(pod), relabelPatch(v.State, pod), usedBy(pod, "limits.memory"), v.unlabelled(pod)}
}

// statuses that a Pod may have.
func statuses() map[string]corev1.PodStatus {
	now := metav1.NewTime(noon)
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
			Name: plan.EtcdContainer, Ready: true, State: runs, Started: ptr.To(false), Resources: &corev1.ResourceRequirements{Limits: memory}, AllocatedResources: memory,
		}, {Name: "proxy", Image: "proxy:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}},
		"gate closed": {Phase: corev1.PodRunning, Conditions: conditions(corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: "load balancer"})},
		"crashing": {Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: plan.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: failed,
		}}},
		"restores":      {PodIP: "192.0.2.1", StartTime: &now, InitContainerStatuses: []corev1.ContainerStatus{{Name: seedContainer, RestartCount: 3, State: failed}}},
		"unschedulable": {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no node fits"}}},
	}
}

func TestAPassSeesTheSameInACachedPodAsInTheWholePod(t *testing.T) {
	for name, test := range podTests {
		for status, of := range statuses() {
			for _, outdated := range []bool{false, true} {
				pod := newPod(test.state, test.member, seedImage)
				pod.CreationTimestamp, pod.Status = metav1.NewTime(noon.Add(-time.Minute)), of
				pod.Annotations[annotationResize] = `{"template":"other"}`
				pod.Spec.NodeName, pod.Labels[corev1.LabelTopologyZone] = "node-1", "zone-1"
				limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
				pod.Spec.Overhead, pod.Spec.Containers[0].Resources.Limits = limits, limits
				for i := range pod.Spec.InitContainers {
					pod.Spec.InitContainers[i].Resources.Limits = limits
				}
				if outdated {
					pod.Annotations[annotationTemplate] = "1-other"
				}
				want := seeing(test.state, pod.DeepCopy())
				cached, err := strip(pod.DeepCopy())
				slimmed, ok := cached.(*corev1.Pod)
				if err != nil || !ok {
					t.Fatalf("the cache holds %T, %v", cached, err)
				}
				if got := seeing(test.state, slimmed); !cmp.Equal(got, want) {
					t.Errorf("%s, %s: what a pass sees in the cached Pod differs:\n%s", name, status, cmp.Diff(want, got))
				}
			}
		}
	}
}

// A tool removed the annotation about the start, so the cached Pod did not show the flag any more. The client Service selected a survivor
// that had lost its membership. A restore counted it as one of three voters.
func TestACachedPodShowsThatEtcdWasForcedToStartAlone(t *testing.T) {
	pod := newPod(state(formed, members(3)), plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartForce}, seedImage)
	delete(pod.Annotations, annotationStart)
	if _, err := strip(pod); err != nil {
		t.Fatal(err)
	}
	if start := startOf(pod); start != plan.StartForce {
		t.Errorf("the start is %v", start)
	}
}

// A Pod of an earlier release has no note of the spec that it was created for, so all of it is compared with the spec.
func TestThePodOfAnEarlierReleaseIsCachedAsAWhole(t *testing.T) {
	s := state(formed, members(3))
	pod := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, seedImage)
	delete(pod.Annotations, annotationTemplate)
	cached, err := strip(pod.DeepCopy())
	if err != nil || !cmp.Equal(cached, pod) {
		t.Errorf("the cached Pod differs, %v:\n%s", err, cmp.Diff(pod, cached))
	}
}

func TestAPassSeesTheSameInACachedVolume(t *testing.T) {
	now := metav1.NewTime(noon)
	volume := newVolume(state(policy(everyField)), plan.CreateMember{Name: nameOf(0), Incarnation: 1})
	volume.OwnerReferences, volume.Labels[v1beta2.LabelReplacedOf] = controlled("uid-example", "example", nil).OwnerReferences, "example"
	volume.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
		AllocatedResourceStatuses: map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizeInfeasible},
		Conditions:                []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	whole := volume.DeepCopy()
	if _, err := strip(volume); err != nil {
		t.Fatal(err)
	}
	var want, got plan.Member
	observeVolume(&want, whole)
	observeVolume(&got, volume)
	if !cmp.Equal(got, want) || got.VolumeProblem == "" || *volume.Spec.StorageClassName != "fast" || !cmp.Equal(volume.ObjectMeta, whole.ObjectMeta) {
		t.Errorf("the cached volume is %+v", volume)
	}
}

func TestTheTableOfSharedWordsIsBounded(t *testing.T) {
	var table wordTable
	for i := range 2 * wordLimit {
		word := time.Duration(i).String()
		if got := table.share(word); got != word {
			t.Fatalf("%q became %q", word, got)
		}
	}
	if len(table.known) != wordLimit {
		t.Errorf("the table has %d words, the limit is %d", len(table.known), wordLimit)
	}
}
