package status

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// Without the ID in the status, an operator that was killed after the fence would forget it, and the cluster would never take writes again. An ID that was called off must
// not be used again, because its decision is in the store.
func TestTheStatusOfASwitchover(t *testing.T) {
	const id = "20261130T100000Z-00000000"
	on := func(phase v1beta2.SwitchoverPhase) *v1beta2.SwitchoverStatus {
		return &v1beta2.SwitchoverStatus{ID: id, Phase: phase, Timeline: 1, Revision: 7}
	}
	type want struct {
		phase v1beta2.SwitchoverPhase // empty for no switchover
		same  bool                    // the same ID
	}
	for name, test := range map[string]struct {
		asked  bool
		status *v1beta2.SwitchoverStatus
		view   *state.Switchover
		change func(s *state.State)
		want   want
	}{
		"it is not asked for":                       {want: want{}},
		"it is asked for":                           {asked: true, want: want{phase: v1beta2.SwitchoverFencing}},
		"before the archiver has begun":             {asked: true, change: func(s *state.State) { s.Archive = nil }, want: want{}},
		"the operator was killed":                   {asked: true, status: on(v1beta2.SwitchoverFencing), want: want{v1beta2.SwitchoverFencing, true}},
		"the archive has ended":                     {asked: true, status: on(v1beta2.SwitchoverFencing), view: &state.Switchover{ID: id, Phase: v1beta2.SwitchoverReady}, want: want{v1beta2.SwitchoverReady, true}},
		"the view is of an earlier one":             {asked: true, status: on(v1beta2.SwitchoverFencing), view: &state.Switchover{ID: "other", Off: true}, want: want{v1beta2.SwitchoverFencing, true}},
		"it is being called off":                    {status: on(v1beta2.SwitchoverReady), want: want{v1beta2.SwitchoverCallingOff, true}},
		"it was called off":                         {status: on(v1beta2.SwitchoverCallingOff), view: &state.Switchover{ID: id, Off: true}, want: want{}},
		"its end was not that of the cluster":       {asked: true, status: on(v1beta2.SwitchoverReady), view: &state.Switchover{ID: id, Off: true}, want: want{phase: v1beta2.SwitchoverFencing}},
		"a standby was promoted":                    {asked: true, status: on(v1beta2.SwitchoverReady), view: &state.Switchover{ID: id, Phase: v1beta2.SwitchoverPromoted}, want: want{v1beta2.SwitchoverPromoted, true}},
		"it is called off after that":               {status: on(v1beta2.SwitchoverPromoted), want: want{v1beta2.SwitchoverPromoted, true}},
		"continuous was removed after that":         {status: on(v1beta2.SwitchoverPromoted), change: func(s *state.State) { s.Spec.Continuous, s.Archive = nil, nil }, want: want{v1beta2.SwitchoverPromoted, true}},
		"the source was restored after that":        {status: on(v1beta2.SwitchoverPromoted), view: &state.Switchover{ID: id, Phase: v1beta2.SwitchoverPromoted, Promoted: "ns/standby", Off: true}, want: want{}},
		"the series is suspended, and it is fenced": {asked: true, status: on(v1beta2.SwitchoverReady), change: func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }, want: want{v1beta2.SwitchoverReady, true}},
		"the status of a promoted one was lost":     {view: &state.Switchover{ID: id, Phase: v1beta2.SwitchoverPromoted, Promoted: "ns/standby"}, want: want{v1beta2.SwitchoverPromoted, true}},
		"and the source was restored after that":    {view: &state.Switchover{ID: id, Phase: v1beta2.SwitchoverPromoted, Promoted: "ns/standby", Off: true}, want: want{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := statetest.ArchivingState(t)
			s.Now, s.Archive = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), &state.Archive{Begun: true, Switchover: test.view}
			s.Held, s.Spec.Continuous.Switchover, s.Status.Switchover = true, test.asked, test.status
			if test.change != nil {
				test.change(&s)
			}
			got := NewStatus(s, plan.Idle{}, nil).Switchover
			switch {
			case test.want.phase == "":
				if got != nil {
					t.Errorf("got %+v, want none", got)
				}
			case got == nil || got.Phase != test.want.phase || (got.ID == id) != test.want.same:
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
