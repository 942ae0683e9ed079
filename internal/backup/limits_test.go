package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A namespace kept the one process of restore tests for its own timeoutInSecond, which may be a day, and waited for it again at once. The
// snapshots of all others were not tested meanwhile, and no archive was proven.
func TestARestoreTestDoesNotWaitForHoursForOneOfAnotherNamespace(t *testing.T) {
	killed := func(ctx context.Context) error {
		<-ctx.Done() // it computes
		return dbfile.Refused(errors.New("killed"))
	}
	for name, run := range map[string]func(context.Context, *job, *jobProgress) error{
		"a restore test": func(ctx context.Context, j *job, progress *jobProgress) error {
			_, err := j.tests.trial("crafted", progress)(ctx, dbfile.Trial{})
			return err
		},
		"a proof of an archive": func(ctx context.Context, j *job, progress *jobProgress) error {
			return j.replayInTurn(ctx, "crafted", replay.Order{Progress: func(int64) {}}, func(int64) error { return nil }, progress)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			j := &job{
				tests:  newTests(1, 1<<30, func(ctx context.Context, _ dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{}, killed(ctx) }),
				replay: func(ctx context.Context, _ replay.Order) (replay.Result, error) { return replay.Result{}, killed(ctx) },
			}
			began := time.Now()
			ended := make(chan error, 1)
			go func() {
				ctx, limit, cancel := withTimeLimit(t.Context(), 24*time.Hour, func() bool { return true })
				defer cancel()
				ended <- run(ctx, j, &jobProgress{limit: limit})
			}()
			<-time.After(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
			defer cancel()
			done, err := j.tests.process(ctx, "other", &jobProgress{})
			if waited := time.Since(began); err != nil || waited > 5*time.Minute {
				t.Errorf("the restore test of another namespace waited %s, error %v", waited, err)
			}
			if err == nil {
				done()
			}
			if err := <-ended; !errors.Is(err, turns.ErrOthersWaited) || condemns(err) || refutes(err) {
				t.Errorf("it is a failed proof, or a failed restore test: %v", err)
			}
		})
	}
}

// A restore test that was ended for others was reported as a snapshot that cannot be restored.
func TestARestoreTestThatIsEndedForOthersIsTriedAgain(t *testing.T) {
	over := fmt.Errorf("%w, and this took longer than 1m0s for 0 MiB", turns.ErrOthersWaited)
	w := newWorld(t)
	tested := drilling(w, snapshot.RestoreTestResult{}, fmt.Errorf("restore test of snapshot x: %w", over))
	r := w.attempt(one(verifies))
	if len(*tested) != 1 || r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRetrying || r.Drill != nil {
		t.Errorf("%d tests, failure %+v, result %+v", len(*tested), r.Failure, r.Drill)
	}
	bubble(t, "the status has no result, and the time of the next attempt", func(t *testing.T) {
		rig := newRig(t, object(series(proven(time.Minute), drillsAt("* * * * *"))))
		rig.now = at(t0)
		rig.ends = func(context.Context) Result {
			return Result{EndedAt: t0, Failure: classify(over, jobSpec{Kind: KindDrill}, false)}
		}
		before := rig.backup().Status.LastDrill
		rig.pass()
		rig.pass()
		now := rig.backup().Status
		if rig.begun != 1 || !equality.Semantic.DeepEqual(before, now.LastDrill) || now.NextDrillTime == nil || now.NextDrillTime.Sub(t0) < time.Minute {
			t.Errorf("%d tests began, the result is %+v, and the next test is at %s", rig.begun, now.LastDrill, now.NextDrillTime)
		}
		if c := meta.FindStatusCondition(now.Conditions, v1beta2.ConditionVerified); c == nil || c.Status == "False" || !strings.Contains(c.Message, "other namespaces waited") {
			t.Errorf("Verified is %+v", c)
		}
	})
}
