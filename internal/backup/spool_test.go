package backup

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func TestConcurrentSnapshotsDoNotFillTheSpoolVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.spool = spool.New(t.TempDir(), spool.Options{Limit: 320 << 20}) // 300 MiB for attempts
		size := int64(200 << 20)
		var running, most atomic.Int32
		w.save = func(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
			share, err := r.Spool.Reserve(ctx, r.Expected)
			if err != nil {
				return snapshot.Saved{}, err
			}
			defer share.Release()
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-time.After(time.Minute)
			return snapshot.Saved{}, errors.New("enough")
		}
		from := member("a", 41)
		from.Status.DBSize = size
		w.probe = probing(from)
		results := make(chan Result)
		for range 4 {
			// 90 s of its own time suffice for each, although the last one waits for three minutes.
			go func() {
				results <- w.attempt(one(func(s *State) { s.Spec.BackupPolicy = policyOf(90) }))
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
	w := newWorld(t)
	w.spool = spool.New(t.TempDir(), spool.Options{Limit: 320 << 20})
	w.drill = snapshot.RunRestoreTest
	o := jobSpecOf(series(proven(time.Minute)))
	o.Kind, o.Newest.Size = KindDrill, 100<<20
	r := w.job.attempt(t.Context(), o, &jobProgress{})
	if r.Failure == nil || r.Failure.Reason != "SpoolTooSmall" || r.Drill != nil {
		t.Errorf("%+v", r)
	}
}

func TestOptionsThatDoNotFitEachOtherAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"a spool without room for one snapshot":  {SpoolLimit: 1 << 20, MaxConcurrent: 1},
		"a spool that keeps the whole disk free": {SpoolKeepFree: 100, MaxConcurrent: 1},
		"a limit of no concurrent snapshots":     {},
	} {
		t.Run(name, func(t *testing.T) {
			o.SpoolDir, o.Metrics = t.TempDir(), prometheus.NewRegistry()
			if _, err := openSpool(o); err == nil {
				t.Error("no error")
			}
		})
	}
}

func policyOf(seconds int64) *v1beta2.BackupPolicy {
	return &v1beta2.BackupPolicy{TimeoutInSecond: seconds}
}

func probing(answers ...ask.Answer) func(context.Context, []string, ask.Access) []ask.Answer {
	return func(context.Context, []string, ask.Access) []ask.Answer { return answers }
}
