package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func provenUpTo(path string, result v1beta2.ProofResult) func(*state.State) {
	return func(s *state.State) {
		s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: result, To: path, From: statetest.EarlierOf(*s), Message: "Revision 12 is damaged."}
	}
}

// Without this proof, a user detects a damaged archive only when a restore fails.
func TestEachSnapshotOfAnArchivedSeriesProvesTheArchive(t *testing.T) {
	newest := statetest.ArchivingState(t).Status.Snapshot.Path
	failedTest := func(s *state.State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: newest, Result: v1beta2.DrillFailed}
	}
	tried := func(in time.Duration) func(*state.State) {
		return func(s *state.State) {
			s.Status.DrillAttempts, s.Status.NextDrillTime = 3, &metav1.Time{Time: s.Now.Add(in)}
		}
	}
	for name, test := range map[string]struct {
		state state.State
		want  Step
	}{
		"the archive was never proven":                         {statetest.ArchivingState(t, statetest.Later), Drill{Number: 1, Path: newest}},
		"the archive was proven up to the previous snapshot":   {statetest.ArchivingState(t, statetest.Later, provenUpTo("before", v1beta2.ProofPassed)), Drill{Number: 1, Path: newest}},
		"the proof up to the previous snapshot failed":         {statetest.ArchivingState(t, statetest.Later, provenUpTo("before", v1beta2.ProofFailed)), Drill{Number: 1, Path: newest}},
		"the archive was proven up to the newest snapshot":     {statetest.ArchivingState(t, statetest.Later, provenUpTo(newest, v1beta2.ProofPassed)), nil},
		"the proof up to the newest snapshot failed":           {statetest.ArchivingState(t, statetest.Later, provenUpTo(newest, v1beta2.ProofFailed)), nil},
		"there is no earlier snapshot in the range":            {statetest.ArchivingState(t, func(s *state.State) { s.Status.Snapshot.Revision = 10 }), nil},
		"the changes before the snapshot are not archived yet": {statetest.ArchivingState(t, func(s *state.State) { s.Status.Snapshot.Revision = 21 }), nil},
		"the newest snapshot failed its own test":              {statetest.ArchivingState(t, statetest.Later, failedTest), nil},
		"the archiver has not read the archive":                {statetest.ArchivingState(t, statetest.Later, func(s *state.State) { s.Archive.Surveyed = false }), nil},
		"a snapshot is due":                                    {statetest.ArchivingState(t, statetest.Later, statetest.Wants("a gap")), TakeSnapshot{Number: 1, Base: "a gap"}},
		"the last attempt could not be carried out":            {statetest.ArchivingState(t, statetest.Later, tried(time.Minute)), nil},
		"the next attempt is due":                              {statetest.ArchivingState(t, statetest.Later, tried(0)), Drill{Number: 4, Path: newest}},
	} {
		t.Run(name, func(t *testing.T) {
			step, rule := Plan(test.state)
			if _, waits := step.(Scheduled); test.want == nil && !waits || test.want != nil && step != test.want {
				t.Errorf("rule %s gives %#v, want %#v", rule, step, test.want)
			}
		})
	}
}
