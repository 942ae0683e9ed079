package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// The clock of the node is wrong, so the kubelet says that etcd started at another time. The operator took that for how long the member has run, and
// restarted the next ready one.
func TestAWrongClockOfANodeDoesNotMakeAMemberRunLonger(t *testing.T) {
	var seen clock.Seen
	for name, change := range map[string]func(m *state.Member){
		"it is behind, and the Pod is new": func(m *state.Member) {
			m.PodCreated, m.EtcdSince, m.UnreadySince = noon.Add(-20*time.Second), noon.Add(-time.Hour), noon.Add(-time.Hour)
		},
		"it is ahead, and etcd ends again and again": func(m *state.Member) {
			m.PodCreated, m.EtcdSince = noon.Add(-time.Hour), noon.Add(time.Hour)
		},
	} {
		s := stateWith(formed, members(3), managed, refusedByReady, with(0, restarted(time.Hour, mute(20*time.Second), change)))
		certificates.CorrectTimes(&s, &seen)
		if stopped := stops(s); stopped != "" {
			t.Errorf("%s: %s is stopped", name, stopped)
		}
	}
}

// The container of a member has restarted in its Pod 20 s ago, on a node whose clock is an hour behind. The kubelet says that etcd started more than an hour ago, and the
// Pod is as old. The operator restarted the next ready member, also if its own process had just begun.
func TestARestartOfAContainerOnANodeWithAClockThatIsBehindBeginsTheTimeAnew(t *testing.T) {
	var seen clock.Seen
	behind := func(m *state.Member) {
		m.PodCreated, m.UnreadySince = noon.Add(-3*time.Hour), noon.Add(-time.Hour)
		mute(time.Hour + 20*time.Second)(m)
	}
	at := func(after time.Duration) string {
		s := stateWith(formed, members(3), managed, refusedByReady, with(0, restarted(time.Hour, behind)))
		s.Now = s.Now.Add(after)
		certificates.CorrectTimes(&s, &seen)
		return stops(s)
	}
	for after := time.Duration(0); after <= 5*time.Minute; after += 30 * time.Second {
		if stopped := at(after); stopped != "" {
			t.Fatalf("%s is stopped after %s", stopped, after)
		}
	}
	if stopped := at(6 * time.Minute); stopped != nameOf(1) {
		t.Errorf("after six minutes %q is stopped, want %s", stopped, nameOf(1))
	}
}
