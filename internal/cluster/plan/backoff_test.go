package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestAFailedPodIsRecreatedAfterADelayThatDoubles(t *testing.T) {
	for failures, want := range map[int32]time.Duration{0: 0, 1: time.Second, 4: 8 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 99: 5 * time.Minute} {
		s := stateWith(formed, members(3), with(1, pod(state.PodEnded)))
		s.Members[1].PodMessage = "OutOfcpu"
		s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: failures, LastTime: metav1.NewTime(noon)}}
		if want > 0 {
			s.Now = noon.Add(want - time.Second)
			wait, waits := Plan(s).(steps.Wait)
			if !waits || !strings.Contains(wait.Message, noon.Add(want).Format(time.RFC3339)) || wait.Stalled != (failures >= 2) {
				t.Errorf("after %d failures the plan is %+v, want a wait until %s later", failures, wait, want)
			}
		}
		s.Now = noon.Add(want)
		step := Plan(s)
		if deleted, is := step.(steps.DeletePod); !is || deleted.Name != nameOf(1) {
			t.Errorf("after %d failures and %s the plan is %+v, want the Pod recreated", failures, want, step)
		}
		after := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1).PodFailures
		if len(after) != 1 || after[0].Count != failures+1 || !after[0].LastTime.Time.Equal(s.Now) {
			t.Errorf("recorded after %d failures: %+v", failures, after)
		}
	}
}

func TestFailedPodsAreForgottenOnceTheMemberServes(t *testing.T) {
	s := stateWith(formed, members(3))
	s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: 4, LastTime: metav1.NewTime(noon)}, {Name: "removed", Count: 1}}
	if got := NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).PodFailures; len(got) > 0 {
		t.Errorf("recorded: %+v", got)
	}
}

func TestACorrectedSpecIsTriedAtOnceOnAPodThatFailed(t *testing.T) {
	s := stateWith(formed, members(3), with(1, pod(state.PodEnded), func(m *state.Member) { m.Outdated = true }))
	s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: 9, LastTime: metav1.NewTime(noon)}}
	if step, is := Plan(s).(steps.DeletePod); !is {
		t.Errorf("the plan is %+v", step)
	}
}

// Without this, a user who may write the status can stop the operator for that cluster.
func TestANegativeCountOfFailuresDoesNotPanic(t *testing.T) {
	defer func() {
		if why := recover(); why != nil {
			t.Errorf("Plan panics: %v", why)
		}
	}()
	s := stateWith(formed, members(3), with(1, pod(state.PodEnded)))
	s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: -1}}
	Plan(s)
}

// Each learner answered before the kubelet evicted its Pod. The answer reset the backoff.
func TestALearnerThatIsEvictedWheneverItAnswersIsReplacedLessAndLessOften(t *testing.T) {
	var failures []v1beta2.PodFailure
	now, added := noon, 0
	pass := func(is ...func(*state.Member)) steps.Step {
		changes := []change{formed, members(3), size(4)}
		if len(is) > 0 {
			changes = append(changes, with(3, is...))
		}
		s := stateWith(append(changes, ephemeral)...)
		s.Now, s.PodFailures = now, failures
		step := Plan(s)
		failures = NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1).PodFailures
		now = now.Add(time.Second)
		return step
	}
	for now.Before(noon.Add(time.Hour)) {
		if step, adds := pass().(steps.AddLearner); !adds {
			t.Fatalf("the plan is %T %+v, want another learner", step, step)
		}
		added++
		pass(learner)
		for deleted := false; !deleted; {
			_, deleted = pass(learner, pod(state.PodEnded)).(steps.DeletePod)
		}
		if step, removes := pass(learner, gone).(steps.RemoveMember); !removes {
			t.Fatalf("the plan is %+v, want the learner removed", step)
		}
	}
	if added > 30 {
		t.Errorf("%d learners were added within an hour, want the pauses between them to grow to %s", added, state.LastAttempt)
	}
}

// On a node under pressure, the operator removed and added a learner on emptyDir as fast as the kubelet evicted its Pod.
func TestALearnerWhoseDataIsEvictedIsReplacedAfterABackoff(t *testing.T) {
	evicted := func(s *state.State) {
		s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(3), Count: 5, LastTime: metav1.NewTime(noon.Add(-time.Second))}}
	}
	s := stateWith(formed, members(3), ephemeral, size(4), with(3, learner, pod(state.PodEnded)), evicted)
	s.Members[3].PodImage = s.ImageFor(1)
	wait, is := Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonPodFailing || !wait.Stalled {
		t.Errorf("Plan returned %+v, want to wait for the next attempt", Plan(s))
	}
	s.Now = noon.Add(time.Hour)
	if _, is := Plan(s).(steps.Wait); is {
		t.Errorf("Plan returned %+v after the backoff", Plan(s))
	}
	s.Now, s.Spec.Size = noon, 3
	if _, is := Plan(s).(steps.RemoveMember); !is {
		t.Errorf("Plan returned %+v, want to remove the learner at once if the cluster does not need it any more", Plan(s))
	}
	removed := stateWith(formed, members(3), ephemeral, evicted, func(s *state.State) { s.Asked.Replace = []string{nameOf(0)} })
	if len(lifecycle.PodFailures(removed, steps.Done{}, nil)) != 1 {
		t.Error("the failures are forgotten between two learners that replace a member")
	}
}
