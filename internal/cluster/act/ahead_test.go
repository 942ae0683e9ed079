package act

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func createAhead() steps.CreateMember {
	return steps.CreateMember{Name: clustertest.AheadName, Incarnation: 1, Start: state.StartJoin, Waits: true}
}

func TestAReleasedPodHasTheMembershipAndItsVolumeIsUsed(t *testing.T) {
	a, v := actorBeside(t)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	if err := a.Act(t.Context(), v, createAhead()); err != nil {
		t.Fatal(err)
	}
	pod, volume := aheadObjects(t, a)
	m := state.Member{Name: clustertest.AheadName, Incarnation: 1}
	pods.ObservePod(&m, pod, v.Now)
	pods.ObserveVolume(&m, volume)
	if !m.Waits || !m.VolumeUnused || m.Peers != "" || m.InService {
		t.Errorf("a Pod that was created ahead: %+v", m)
	}
	m.InMembership, m.Learner = true, true
	v.Members = append(v.Members, m)
	if err := a.Act(t.Context(), v, steps.ReleaseMember{Name: clustertest.AheadName}); err != nil {
		t.Fatal(err)
	}
	pod, volume = aheadObjects(t, a)
	want := command.JoinPeers(v.State, clustertest.AheadName)
	if got := pod.Annotations[pods.AnnotationInitialCluster]; got != want || pods.Waits(pod) || volume.Annotations[pods.AnnotationUnused] != "" {
		t.Errorf("initial cluster %q, want %q; annotations %v; volume %v", got, want, pod.Annotations, volume.Annotations)
	}
	pods.ObservePod(&m, pod, v.Now)
	if m.Waits || m.Peers == "" {
		t.Errorf("a released Pod: %+v", m)
	}
}

// A tool removed an annotation from a Pod whose etcd runs. The Pod counted as one without etcd, so a restore switched while that etcd ran.
func TestAPodThatRanIsToldFromOneThatWaits(t *testing.T) {
	for name, test := range map[string]struct {
		status []corev1.ContainerStatus
		ran    bool
	}{
		"the kubelet has not reported":                         {nil, false},
		"the container of etcd is created but has not started": {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, ContainerID: "containerd://1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}, false},
		"the container of etcd cannot be created":              {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}}}, false},
		"only another container runs":                          {[]corev1.ContainerStatus{{Name: "beside", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, false},
		"etcd runs":                                            {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, true},
		"etcd has ended and its container is recreated":        {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, true},
		"etcd was restarted":                                   {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, RestartCount: 1}}, true},
		"etcd has ended":                                       {[]corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, true},
	} {
		m := state.Member{}
		pods.ObservePod(&m, &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: test.status}}, plantest.Noon)
		if m.Ran != test.ran {
			t.Errorf("%s: ran %t", name, m.Ran)
		}
	}
}

// An old cache showed the name as free. Its member was removed long ago, but the volume still has data.
func TestNoPodIsCreatedAheadOnAVolumeThatEtcdMayHaveUsed(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		behind      bool
	}{
		"the volume of a removed member":         {nil, true},
		"the volume of a Pod that was lost":      {map[string]string{pods.AnnotationUnused: "true"}, false},
		"the volume of a member that has joined": {map[string]string{pods.AnnotationInitialCluster: "a"}, true},
	} {
		volume := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", clustertest.AheadName, nil)}
		volume.Annotations = test.annotations
		a, v := actorBeside(t, volume)
		v.State = clustertest.State(plantest.Formed, plantest.Members(3))
		if err := a.Act(t.Context(), v, createAhead()); errors.Is(err, view.ErrBehind) != test.behind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMemberIsNotAddedIfItsPodNoLongerWaits(t *testing.T) {
	for name, test := range map[string]struct {
		added  string
		behind bool
	}{"the Pod waits": {"", false}, "the Pod was released": {pods.WholeVolume, true}} {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", clustertest.AheadName, nil), Spec: pods.NewPod(clustertest.State(plantest.Formed, plantest.Members(3)), createAhead(), "").Spec}
		pod.Annotations = map[string]string{pods.AnnotationAdded: test.added}
		a, v := actorBeside(t, pod)
		v.Members = []state.Member{{Name: clustertest.AheadName, Incarnation: 1, Waits: true}}
		if err := a.confirmer.ConfirmData(t.Context(), v, steps.AddLearner{Name: clustertest.AheadName}); errors.Is(err, view.ErrBehind) != test.behind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A member that joins without waiting may use a volume that was created ahead. The volume must not count as unused
// afterwards.
func TestAVolumeCountsAsUsedOnceItsMemberJoins(t *testing.T) {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", clustertest.AheadName, nil)}
	volume.Annotations = map[string]string{pods.AnnotationUnused: "true"}
	a, v := actorBeside(t, volume)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	if err := a.Act(t.Context(), v, steps.CreateMember{Name: clustertest.AheadName, Incarnation: 1, Start: state.StartJoin}); err != nil {
		t.Fatal(err)
	}
	if _, volume = aheadObjects(t, a); volume.Annotations[pods.AnnotationUnused] != "" {
		t.Errorf("annotations %v", volume.Annotations)
	}
}

func TestAPodThatWaitsIsStartingAndNotBlocked(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CreateContainerConfigError", Message: "missing value for " + lifecycle.EnvAdded,
		}},
	}}}}
	if got, reason, message := lifecycle.PodStateOf(pod, time.Now()); got != state.PodStarting {
		t.Errorf("%s: %s %s", got, reason, message)
	}
}

func TestTheTimeOfAnAddressIsThatOfTheSandbox(t *testing.T) {
	made, ready := metav1.Unix(100, 0), metav1.Unix(200, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}
	if !pods.AddressSince(pod).IsZero() {
		t.Error("a Pod without an address has the time of one")
	}
	pod.Status.PodIP = "10.0.0.1"
	if got := pods.AddressSince(pod); !got.Equal(made.Time) {
		t.Errorf("without the condition: %s", got)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: ready}}
	if got := pods.AddressSince(pod); !got.Equal(ready.Time) {
		t.Errorf("with the condition: %s", got)
	}
}

func aheadObjects(t *testing.T, a *Actor) (*corev1.Pod, *corev1.PersistentVolumeClaim) {
	t.Helper()
	pod, volume := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	for _, object := range []client.Object{pod, volume} {
		if err := a.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: clustertest.AheadName}, object); err != nil {
			t.Fatal(err)
		}
	}
	return pod, volume
}
