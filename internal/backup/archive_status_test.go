package backup

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The archiver gets a base before its restore test. After the test had failed, the status still listed the range of that base, which no
// restore accepts. The archiver asked for no other base until the next snapshot.
func TestTheArchiveIsSurveyedAgainAfterAFailedRestoreTest(t *testing.T) {
	drill := func(path string, result v1beta2.DrillResult) *v1beta2.BackupDrill {
		return &v1beta2.BackupDrill{Path: path, Result: result}
	}
	for name, test := range map[string]struct {
		before, ended *v1beta2.BackupDrill
		want          int
	}{
		"the first test failed":                      {nil, drill("a", v1beta2.DrillFailed), 1},
		"the test of the next snapshot failed":       {drill("a", v1beta2.DrillFailed), drill("b", v1beta2.DrillFailed), 1},
		"the test of the same snapshot failed again": {drill("a", v1beta2.DrillFailed), drill("a", v1beta2.DrillFailed), 0},
		"a snapshot passed after it had failed":      {drill("a", v1beta2.DrillFailed), drill("a", v1beta2.DrillPassed), 1},
		"a snapshot passed":                          {drill("a", v1beta2.DrillPassed), drill("b", v1beta2.DrillPassed), 0},
		"there was no test":                          {drill("a", v1beta2.DrillFailed), nil, 0},
	} {
		statetest.Bubble(t, name, func(t *testing.T) {
			s := statetest.ArchivingState(t)
			s.Status.LastDrill = test.before
			s.Attempt = &state.Attempt{Kind: state.KindDrill, Result: &state.Result{Drill: test.ended, Failure: &state.Failure{Reason: v1beta2.ReasonSnapshotCorrupt, Message: "x"}}}
			r, backup := newRig(t), object(s)
			looks := 0
			r.archives = archiving.New(func(ctx context.Context, a *archiving.Archiver) {
				for ctx.Err() == nil {
					select {
					case <-a.News():
						looks++
					case <-ctx.Done():
					}
				}
			}, nil)
			r.archives.Set(keyOf(backup), archiving.SpecOf(s))
			synctest.Wait()
			r.settle(backup, s, plan.Report{})
			synctest.Wait()
			r.archives.Set(keyOf(backup), nil)
			if looks != test.want {
				t.Errorf("the archive is surveyed %d times, want %d", looks, test.want)
			}
		})
	}
}
