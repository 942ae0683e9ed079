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
