package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func atRevision(revision int64) func(*state.Member) {
	return func(m *state.Member) { m.Revision = revision }
}

func bumpBy(bump int64) change { return func(s *state.State) { s.Request.RevisionBump = bump } }

// A second restore of the same snapshot once moved the revision from 1000000701 back to 1000000301.
func TestEveryRestoreEndsAboveAllRevisionsThatTheClusterHad(t *testing.T) {
	const bump = 1_000_000_000
	restoredTo := func(revision int64) change {
		return func(s *state.State) {
			restored(v1beta2.RestoreComplete)(s)
			s.Restore.UID, s.Restore.Revision = "uid-first", revision
			s.Services.ClientRestoreUID = "uid-first"
		}
	}
	for name, test := range map[string]struct {
		state                 state.State
		wantBefore, wantAdded int64
	}{
		"a first restore adds what the cluster wrote after the snapshot": {
			stateWith(formed, members(3), with(1, atRevision(701)), asked, bumpBy(bump)), 701, bump + 659,
		},
		"a snapshot that is newer than the cluster is raised by the bump alone": {
			stateWith(formed, members(3), with(1, atRevision(7)), asked, bumpBy(bump)), 7, bump,
		},
		"a second restore exceeds the revision of the first, even if no member answers": {
			stateWith(formed, restoredTo(bump+701), asked, bumpBy(bump)), bump + 701, bump + bump + 659,
		},
		"a restore after a failed one uses the revision that the failed one recorded": {
			stateWith(formed, func(s *state.State) {
				s.Restore = &v1beta2.ClusterRestoreStatus{UID: "uid-first", Step: v1beta2.RestoreFailed, RevisionBefore: bump + 701}
			}, asked, bumpBy(bump)), bump + 701, bump + bump + 659,
		},
		"a restore after a recovery exceeds its revision, even if no member answers": {
			stateWith(formed, func(s *state.State) {
				s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Revision: bump + 701}
			}, asked, bumpBy(bump)), bump + 701, bump + bump + 659,
		},
		"a bump of 1 still exceeds the revision of the cluster": {stateWith(formed, members(3), with(1, atRevision(701)), asked, bumpBy(1)), 701, 660},
		"a bump of 0 adds nothing":                              {stateWith(formed, members(3), with(1, atRevision(701)), asked), 701, 0},
		"a new cluster gets the bump alone": {
			stateWith(asked, bumpBy(bump)), 0, bump,
		},
	} {
		t.Run(name, func(t *testing.T) {
			begin, is := Plan(test.state).(steps.BeginRestore)
			if !is || begin.Restore.RevisionBefore != test.wantBefore || begin.Restore.RevisionBump != test.wantAdded {
				t.Fatalf("%+v, want revision %d before and %d added", begin, test.wantBefore, test.wantAdded)
			}
			test.state.Restore = &begin.Restore
			test.state.Members = nil // what they report later changes nothing
			if got := restore.SeedRevisionBump(test.state); got != test.wantAdded {
				t.Errorf("the seed adds %d, want %d", got, test.wantAdded)
			}
		})
	}
}
