package attempt_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func TestConcurrentSnapshotsDoNotFillTheSpoolVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Spool = spool.New(t.TempDir(), spool.Options{Limit: 320 << 20}) // 300 MiB for attempts
		size := int64(200 << 20)
		var running, most atomic.Int32
		w.Save = func(ctx context.Context, r save.Request) (save.Saved, error) {
			share, err := r.Spool.Reserve(ctx, r.Expected)
			if err != nil {
				return save.Saved{}, err
			}
			defer share.Release()
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-time.After(time.Minute)
			return save.Saved{}, errors.New("enough")
		}
		from := clientstest.Member("a", 41)
		from.Status.DBSize = size
		w.Probe = probing(from)
		results := make(chan state.Result)
		for range 4 {
			// 90 s of its own time suffice for each, although the last one waits for three minutes.
			go func() {
				results <- w.Attempt(statetest.One(func(s *state.State) { s.Spec.BackupPolicy = statetest.PolicyOf(90) }))
			}()
		}
		for range 4 {
			if r := <-results; r.Failure == nil || r.Failure.Reason != "StoreUnreachable" {
				t.Errorf("%+v", r.Failure)
			}
		}
		if most.Load() != 1 {
			t.Errorf("%d snapshots of 200 MiB were in a spool of 300 MiB at once", most.Load())
		}
	})
}

func TestARestoreTestReservesTwiceTheDatabase(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Spool = spool.New(t.TempDir(), spool.Options{Limit: 320 << 20})
	w.Drill = proof.RunRestoreTest
	o := state.JobSpecOf(statetest.Series(statetest.Proven(time.Minute)))
	o.Kind, o.Newest.Size = state.KindDrill, 100<<20
	r := w.Run(t.Context(), o, &queue.Progress{})
	if r.Failure == nil || r.Failure.Reason != "SpoolTooSmall" || r.Drill != nil {
		t.Errorf("%+v", r)
	}
}

func probing(answers ...ask.Answer) func(context.Context, []string, ask.Access) []ask.Answer {
	return func(context.Context, []string, ask.Access) []ask.Answer { return answers }
}
