package members

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// readyAlone: the Pod of the second member is ready, because etcd 3.4 serves its metrics. The others do not hear from it.
func readyAlone(s *state.State) {
	m := &s.Members[1]
	m.ReadyAlone, m.PodReady, m.UnreadySince = true, true, time.Time{}
}

// A member of etcd 3.4 that is cut off from its peers was never replaced: the operator counted only the time for which its Pod was not ready.
func TestAMemberThatIsReadyWithoutAQuorumIsReplaced(t *testing.T) {
	w := watch()
	if w.look(4*time.Minute, readyAlone) {
		t.Error("it is replaced before the grace period is over")
	}
	if !w.look(2*time.Minute, readyAlone) {
		t.Error("it is not replaced within six minutes")
	}
}

// A user that refuses the operator does not make the member one that fails.
func TestAGuardedMemberThatIsReadyIsNotCountedAsUnready(t *testing.T) {
	w := watch()
	w.look(6*time.Minute, func(s *state.State) {
		readyAlone(s)
		s.MembershipKnown, s.Members[1].Guarded = false, true
	})
	if m := w.s.Members[1]; !m.UnreadySince.IsZero() {
		t.Errorf("it is unready since %s", m.UnreadySince)
	}
}

// Two of three members of etcd 3.4 have lost their volumes, and the spec consents to a recovery. The third was restarted without a quorum, so it shows
// only its metrics. Its Pod is ready, so the operator waited for its answer for good.
func TestAMemberThatIsReadyWithoutAQuorumIsTheSurvivorOfARecovery(t *testing.T) {
	w := watch()
	alone := func(s *state.State) {
		s.MembershipKnown, s.Spec.Recovery = false, &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		for i := range s.Members {
			m := &s.Members[i]
			m.Answers, m.Serving, m.InMembership, m.Pod, m.Volume = false, false, false, state.PodNone, state.VolumeNone
		}
		m := &s.Members[1]
		readyAlone(s)
		m.Pod, m.Volume, m.RaftIndex, m.Unanswered = state.PodRunning, state.VolumePresent, 10, "deadline exceeded"
	}
	w.look(6*time.Minute, alone)
	if begin, is := plan.Plan(w.s).(steps.BeginRecovery); !is {
		t.Errorf("%#v", plan.Plan(w.s))
	} else if begin.Member != w.s.Members[1].Name {
		t.Error(begin.Member)
	}
}

// The Pod of etcd 3.4 stopped for longer than the grace period, because its node did not confirm that. The next Pod is ready, and its etcd has yet to join the others.
func TestTheTimeBeforeThePodWasCreatedDoesNotCount(t *testing.T) {
	w := watch()
	began := w.s.Now
	if w.look(4*time.Minute, func(s *state.State) { s.Members[1].Pod, s.Members[1].UnreadySince = state.PodDeleting, began }) {
		t.Fatal("it is replaced while its Pod stops")
	}
	created := w.s.Now
	again := func(s *state.State) {
		readyAlone(s)
		s.Members[1].Pod, s.Members[1].PodCreated = state.PodRunning, created
	}
	if w.look(4*time.Minute, again) {
		t.Error("it is replaced within four minutes after its Pod was created")
	}
	if !w.look(2*time.Minute, again) {
		t.Error("it is not replaced after six minutes")
	}
}
