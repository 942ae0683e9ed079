package cluster

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

var aheadName = nameOf(3)

func createAhead() plan.CreateMember {
	return plan.CreateMember{Name: aheadName, Incarnation: 1, Start: plan.StartJoin, Waits: true}
}

func TestAReleasedPodHasTheMembershipAndItsVolumeIsUsed(t *testing.T) {
	r, v := beside(t)
	v.State = state(formed, members(3))
	if err := r.act(t.Context(), v, createAhead()); err != nil {
		t.Fatal(err)
	}
	pod, volume := aheadObjects(t, r)
	m := plan.Member{Name: aheadName, Incarnation: 1}
	observePod(&m, pod, v.Now)
	observeVolume(&m, volume)
	if !m.Waits || !m.VolumeUnused || m.Peers != "" || m.InService {
		t.Errorf("a Pod that was created ahead: %+v", m)
	}
	m.InMembership, m.Learner = true, true
	v.Members = append(v.Members, m)
	if err := r.act(t.Context(), v, plan.ReleaseMember{Name: aheadName}); err != nil {
		t.Fatal(err)
	}
	pod, volume = aheadObjects(t, r)
	want := joinPeers(v.State, aheadName)
	if got := pod.Annotations[annotationInitialCluster]; got != want || waits(pod) || volume.Annotations[annotationUnused] != "" {
		t.Errorf("initial cluster %q, want %q; annotations %v; volume %v", got, want, pod.Annotations, volume.Annotations)
	}
	observePod(&m, pod, v.Now)
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
		"the container of etcd is created but has not started": {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, ContainerID: "containerd://1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}, false},
		"the container of etcd cannot be created":              {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}}}, false},
		"only another container runs":                          {[]corev1.ContainerStatus{{Name: "beside", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, false},
		"etcd runs":                                            {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, true},
		"etcd has ended and its container is recreated":        {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, true},
		"etcd was restarted":                                   {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, RestartCount: 1}}, true},
		"etcd has ended":                                       {[]corev1.ContainerStatus{{Name: plan.EtcdContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, true},
	} {
		m := plan.Member{}
		observePod(&m, &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: test.status}}, noon)
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
		"the volume of a Pod that was lost":      {map[string]string{annotationUnused: "true"}, false},
		"the volume of a member that has joined": {map[string]string{annotationInitialCluster: "a"}, true},
	} {
		volume := &corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", aheadName, nil)}
		volume.Annotations = test.annotations
		r, v := beside(t, volume)
		v.State = state(formed, members(3))
		if err := r.act(t.Context(), v, createAhead()); errors.Is(err, errBehind) != test.behind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMemberIsNotAddedIfItsPodNoLongerWaits(t *testing.T) {
	for name, test := range map[string]struct {
		added  string
		behind bool
	}{"the Pod waits": {"", false}, "the Pod was released": {wholeVolume, true}} {
		pod := &corev1.Pod{ObjectMeta: controlled("uid-example", aheadName, nil), Spec: newPod(state(formed, members(3)), createAhead(), "").Spec}
		pod.Annotations = map[string]string{annotationAdded: test.added}
		r, v := beside(t, pod)
		v.Members = []plan.Member{{Name: aheadName, Incarnation: 1, Waits: true}}
		if err := r.confirmData(t.Context(), v, plan.AddLearner{Name: aheadName}); errors.Is(err, errBehind) != test.behind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A member that joins without waiting may use a volume that was created ahead. The volume must not count as unused
// afterwards.
func TestAVolumeCountsAsUsedOnceItsMemberJoins(t *testing.T) {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", aheadName, nil)}
	volume.Annotations = map[string]string{annotationUnused: "true"}
	r, v := beside(t, volume)
	v.State = state(formed, members(3))
	if err := r.act(t.Context(), v, plan.CreateMember{Name: aheadName, Incarnation: 1, Start: plan.StartJoin}); err != nil {
		t.Fatal(err)
	}
	if _, volume = aheadObjects(t, r); volume.Annotations[annotationUnused] != "" {
		t.Errorf("annotations %v", volume.Annotations)
	}
}

func TestAPodThatWaitsIsStartingAndNotBlocked(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: plan.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CreateContainerConfigError", Message: "missing value for " + plan.EnvAdded,
		}},
	}}}}
	if got, reason, message := plan.PodStateOf(pod, time.Now()); got != plan.PodStarting {
		t.Errorf("%s: %s %s", got, reason, message)
	}
}

func TestTheTimeOfAnAddressIsThatOfTheSandbox(t *testing.T) {
	made, ready := metav1.Unix(100, 0), metav1.Unix(200, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}
	if !addressSince(pod).IsZero() {
		t.Error("a Pod without an address has the time of one")
	}
	pod.Status.PodIP = "10.0.0.1"
	if got := addressSince(pod); !got.Equal(made.Time) {
		t.Errorf("without the condition: %s", got)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: ready}}
	if got := addressSince(pod); !got.Equal(ready.Time) {
		t.Errorf("with the condition: %s", got)
	}
}

func aheadObjects(t *testing.T, r *Reconciler) (*corev1.Pod, *corev1.PersistentVolumeClaim) {
	t.Helper()
	pod, volume := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	for _, object := range []client.Object{pod, volume} {
		if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: aheadName}, object); err != nil {
			t.Fatal(err)
		}
	}
	return pod, volume
}
