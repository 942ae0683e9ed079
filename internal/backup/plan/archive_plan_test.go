package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestAnArchiveThatNeedsABaseTakesASnapshotAtOnce(t *testing.T) {
	suspend := func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }
	for name, test := range map[string]struct {
		state state.State
		want  Step
	}{
		"takes no snapshot if the archive needs no base":                    {statetest.ArchivingState(t), nil},
		"takes a snapshot if the archive needs a base":                      {statetest.ArchivingState(t, statetest.Wants("a gap")), TakeSnapshot{Number: 1, Base: "a gap"}},
		"takes the snapshot that a user requested first":                    {statetest.ArchivingState(t, statetest.Wants("a gap"), func(s *state.State) { s.Request = "now" }), TakeSnapshot{Number: 1}},
		"takes no snapshot of a suspended series":                           {statetest.ArchivingState(t, statetest.Wants("a gap"), suspend), nil},
		"takes no snapshot for an archive that the spec no longer asks for": {statetest.ArchivingState(t, statetest.Wants("a gap"), func(s *state.State) { s.Spec.Continuous = nil }), nil},
		"sets the finalizer first":                                          {statetest.ArchivingState(t, statetest.Wants("a gap"), func(s *state.State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }), Hold{}},
	} {
		t.Run(name, func(t *testing.T) {
			step, rule := Plan(test.state)
			_, takes := step.(TakeSnapshot)
			if test.want != nil && step != test.want || test.want == nil && takes {
				t.Errorf("rule %s gives %#v, want %#v", rule, step, test.want)
			}
		})
	}
}
