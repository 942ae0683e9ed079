package members

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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
