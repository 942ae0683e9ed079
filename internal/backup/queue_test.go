package backup

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

func TestAThousandBackupsDueAtOnceAreTakenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backups = 1000
		var objects []client.Object
		for i := range backups {
			b := object(one())
			b.Name, b.UID = fmt.Sprintf("b%04d", i), types.UID(fmt.Sprintf("u%04d", i))
			objects = append(objects, b)
		}
		r := newRig(t, objects...)
		r.attempts = newAttempts(map[string]int{laneSnapshot: 5}) // of which one namespace has 4
		var order []string
		var running, most atomic.Int32
		slot := make(chan struct{}, 1)
		r.attempt = func(_ context.Context, o jobSpec, p *jobProgress) Result {
			slot <- struct{}{}
			order = append(order, o.Name)
			<-slot
			p.stage("streaming")
			most.Store(max(most.Load(), running.Add(1)))
			<-time.After(10 * time.Second)
			running.Add(-1)
			return Result{EndedAt: time.Now(), Snapshot: snapshotAt("bucket/dir/snap.db", time.Now())}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		for _, b := range objects {
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - goroutines; got > 20 {
			t.Errorf("%d goroutines while 4 attempts run and the others wait", got)
		}
		last := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(objects[backups-1])}
		result, err := r.Reconcile(t.Context(), last)
		if err != nil || result.RequeueAfter < time.Hour {
			t.Errorf("a queued EtcdBackup is read again after %s, error %v", result.RequeueAfter, err)
		}
		waiting, _ := r.attempts.pool.Queue(laneSnapshot)
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%d attempts wait; the heap grew by %d KiB, with the status of each in the fake API", waiting, (int64(after.HeapInuse)-int64(before.HeapInuse))>>10)
		if waiting != backups-4 {
			t.Errorf("%d attempts wait", waiting)
		}
		<-time.After(backups * 10 * time.Second)
		if len(order) != backups || most.Load() != 4 {
			t.Fatalf("%d attempts ran, %d at once", len(order), most.Load())
		}
		for place, name := range order {
			if got := fmt.Sprintf("b%04d", place); name[:4] != got[:4] && name[:3] != got[:3] {
				t.Fatalf("%s ran in place %d", name, place)
			}
		}
	})
}

func TestAQueuedAttemptIsShownAsQueued(t *testing.T) {
	s := series(func(s *State) { s.Attempt = &Attempt{Queued: true, Generation: 1, Number: 1, StartedAt: t0} })
	step, _ := Plan(s)
	if got := NewStatus(s, step, nil).Progress; got == nil || got.Stage != "queued" {
		t.Errorf("progress %+v", got)
	}
	if got := step.describe(s); got.Requeue < time.Hour {
		t.Errorf("it is read again after %s", got.Requeue)
	}
}

func TestAnAttemptThatNeverRanIsNotCounted(t *testing.T) {
	for name, test := range map[string]struct {
		full bool
		want Step
	}{
		"a queued attempt is queued again at once":                    {true, TakeSnapshot{Number: 1}},
		"an attempt that began is counted and repeated after a pause": {false, Backoff{At: t0.Add(firstDelay), Interrupted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := series(func(s *State) { s.Full = test.full })
			step, _ := Plan(s)
			s.Status = NewStatus(s, step, nil)
			// The operator is restarted.
			if got := next(s); got != test.want {
				t.Errorf("step %#v, want %#v", got, test.want)
			}
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "etcd"}
			if test.full {
				if got := NewStatus(s, next(s), nil); got.Attempts != 0 {
					t.Errorf("%d attempts are counted while the cluster is missing", got.Attempts)
				}
			}
		})
	}
}

func TestOneNamespaceAndOneStoreLeaveAWorkerToOthers(t *testing.T) {
	l := Options{MaxConcurrent: 4}.limits()
	claim := l.claim(jobSpecOf(one()))
	if claim.Lane != laneSnapshot || claim.Namespace != 2 || len(claim.Groups) != 1 {
		t.Fatalf("%+v", claim)
	}
	for group, limit := range claim.Groups {
		if limit != 3 {
			t.Errorf("%s may use %d of 4 workers", group, limit)
		}
	}
	if drill := l.claim(jobSpec{Kind: KindDrill}); drill.Lane != laneDrill || len(drill.Groups) > 0 {
		t.Errorf("%+v", drill)
	}
}

func TestSchedulesAreSpreadByTheUID(t *testing.T) {
	due := map[time.Time]int{}
	for i := range 1000 {
		s := cron("0 3 * * *", proven(6*time.Hour), func(s *State) {
			s.UID, s.Jitter = types.UID(fmt.Sprintf("uid-%d", i)), time.Minute
			s.Status.Snapshot.CreatedAt = stamp(t0.Add(-20 * time.Hour))
			s.Now = t0.Add(-10 * time.Hour)
		})
		at := s.turn()
		tick := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
		if at.Before(tick) || !at.Before(tick.Add(time.Minute)) {
			t.Fatalf("due at %s", at)
		}
		due[at]++
		s.Now = at.Add(-time.Second)
		if _, waits := next(s).(Scheduled); !waits {
			t.Fatalf("%#v a second before it is due", next(s))
		}
		s.Now = at
		if next(s) != (TakeSnapshot{Number: 1}) {
			t.Fatalf("%#v when it is due at %s", next(s), at)
		}
		// The snapshot of this run, or one that a user asked for after the scheduled time, is enough until the next run.
		s.Status.Snapshot.CreatedAt = stamp(tick.Add(time.Second))
		if got := s.turn(); got != at.Add(24*time.Hour) {
			t.Fatalf("next at %s", got)
		}
	}
	if len(due) < 50 {
		t.Errorf("1000 EtcdBackups are due at %d different seconds", len(due))
	}
	if s := cron("* * * * *", proven(time.Minute), func(s *State) { s.Jitter = time.Hour }); s.turn().After(t0.Add(6 * time.Second)) {
		t.Errorf("due at %s, a snapshot each minute", s.turn())
	}
}

// Without this, one slow restore test of a tenant stops the snapshots of all others for hours.
func TestAttemptsThatWaitForARestoreTestDelayNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		free := make(chan struct{})
		w.drill = func(ctx context.Context, _ snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error) {
			select { // the slow restore test of one tenant
			case <-free:
				return snapshot.RestoreTestResult{Compared: true}, nil
			case <-ctx.Done():
				return snapshot.RestoreTestResult{}, context.Cause(ctx)
			}
		}
		options := Options{MaxConcurrent: 4, MaxRestoreTests: 1}
		attempts, limits := newAttempts(options.lanes()), options.limits()
		start := func(namespace, name string, kind Kind, changes ...change) worker.Key {
			s := one(changes...)
			s.Namespace, s.Name, s.UID = namespace, name, types.UID(namespace+name)
			s.Spec.S3 = &v1beta2.S3Source{Path: namespace + "/" + namespace + name}
			s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
			o := jobSpecOf(s)
			o.Kind = kind
			key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: name}, UID: s.UID}
			attempts.start(key, limits.claim(o), &jobProgress{kind: kind}, func(ctx context.Context, p *jobProgress) Result { return w.job.attempt(ctx, o, p) })
			return key
		}
		day := func(s *State) { s.Spec.BackupPolicy = policyOf(24 * 3600) }
		start("slow", "drill", KindDrill, day) // its own limit is a day
		synctest.Wait()
		start("a", "1", KindSnapshot, verifies)
		start("a", "2", KindSnapshot, verifies)
		start("b", "1", KindSnapshot, verifies)
		start("b", "2", KindSnapshot, verifies)
		synctest.Wait()
		plain := start("c", "1", KindSnapshot) // verify: Checksum
		<-time.After(12 * time.Hour)
		synctest.Wait()
		if _, done, _ := attempts.pool.Result(plain); !done {
			t.Errorf("a snapshot without a restore test has waited for 12 hours: %d wait, %d saves", func() int { n, _ := attempts.pool.Queue(laneSnapshot); return n }(), len(w.saves))
		}
		close(free)
		synctest.Wait()
	})
}
