package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A process that cannot be started says nothing about the snapshot.
func TestAChildThatCannotBeStartedCondemnsNoSnapshot(t *testing.T) {
	for name, try := range map[string]func(context.Context, dbfile.Trial) (dbfile.KVHash, error){
		"the node has no process left": func(context.Context, dbfile.Trial) (dbfile.KVHash, error) {
			// What restoretest.Process.Try returns if fork fails.
			return dbfile.KVHash{}, fmt.Errorf("start the process of the restore test: %w", &os.PathError{Op: "fork/exec", Path: "/backup-operator", Err: syscall.EAGAIN})
		},
		"the operator has no file descriptor left": func(ctx context.Context, trial dbfile.Trial) (dbfile.KVHash, error) {
			var before syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
				t.Fatal(err)
			}
			none := before
			none.Cur = 3
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()
			return restoretest.Try(ctx, trial, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.drill, w.tests.try = snapshot.RunRestoreTest, try
			w.save = func(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
				return snapshot.Saved{}, w.store.Put(ctx, r.Key, bytes.NewReader(dbfiletest.New(t, 1).Put(10, 10).Snapshot()))
			}
			r := w.attempt(one(verifies))
			t.Logf("%+v", r.Failure)
			if r.Drill != nil && r.Drill.Result == v1beta2.DrillFailed {
				t.Errorf("a good snapshot is condemned: %s", r.Drill.Message)
			}
			for _, key := range w.keys() {
				if strings.HasSuffix(key, "verdict-failed") {
					t.Errorf("there is a verdict %s", key)
				}
			}
		})
	}
}

// docs/backup.md: if a test cannot be carried out, the operator repeats it after 1 minute, and doubles the pause up to 6 hours.
func TestAVerificationThatCannotBeCarriedOutIsNotRepeatedEveryFiveMinutes(t *testing.T) {
	s := series(verifies, proven(2*time.Hour))
	s.Attempt = &Attempt{Generation: 1, Number: 40, StartedAt: t0, Result: &Result{EndedAt: t0, Failure: &Failure{v1beta2.ReasonRestoreTestTooLarge, "too large"}}}
	step, _ := Plan(s)
	status := NewStatus(s, step, nil)
	if pause := status.NextTime.Sub(t0); pause < time.Hour {
		t.Errorf("attempt 41, which downloads the whole snapshot again, begins after %s", pause)
	}
}

// queue.go: restore tests do not delay snapshots.
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

// docs/backup.md: if it cannot reach the store, it retries for 10 minutes at most, then releases the EtcdBackup.
func TestADeletionWhosePurgeIsQueuedEndsToo(t *testing.T) {
	s := series(deletes, held, deleted)
	s.DeletedAt = t0.Add(-3 * time.Hour)
	s.Attempt = &Attempt{Kind: KindPurge, Generation: 1, Number: 1, StartedAt: s.DeletedAt, Queued: true}
	if step, _ := Plan(s); step == (Watch{}) {
		t.Error("the EtcdBackup has waited for a free worker for 3 hours, and is not released")
	}
}

// The process ends between the verdict in the store and the status.
func TestAVerdictWhoseStatusWasLostClearsAnEarlierFailure(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{Compared: true}, nil)
	failed := func(s *State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: "bucket/dir/snap.db/ns/b/0000000000000001/old.db", Result: v1beta2.DrillFailed, Message: "differs"}
	}
	first := w.attempt(series(verifies, failed)) // its status is lost
	if first.Failure != nil || first.Drill == nil {
		t.Fatalf("%+v", first)
	}
	s := series(verifies, failed)
	r := w.attempt(s)
	if r.Failure != nil || !r.Found {
		t.Fatal(errors.New("not found"), r)
	}
	s.Attempt = &Attempt{Generation: 1, Number: 1, StartedAt: t0, Result: &r}
	step, _ := Plan(s)
	status := NewStatus(s, step, nil)
	for _, c := range status.Conditions {
		if c.Type == v1beta2.ConditionReady && c.Status != "True" {
			t.Errorf("the newest snapshot has passed its restore test, but Ready is %s: %s", c.Status, c.Message)
		}
	}
}

// An attempt failed while the clock of the node was ten days ahead. No pause of a snapshot is longer than 5 minutes.
func TestAClockThatWasAheadDelaysNoAttemptForDays(t *testing.T) {
	for name, s := range map[string]State{
		"the attempt has failed":   series(proven(2*time.Hour), failedTries(3, 240*time.Hour)),
		"the operator was stopped": series(proven(2*time.Hour), stopped(3, -240*time.Hour)),
	} {
		if step, _ := Plan(s); step != (TakeSnapshot{Number: 4}) {
			t.Errorf("%s: %#v", name, step)
		}
	}
}

// A large number means that no run is too late.
func TestAnEndlessStartingDeadlineSkipsNoRun(t *testing.T) {
	s := cron("0 * * * *", deadline(9_999_999_999))
	s.CreatedAt = t0.Add(-2 * time.Hour)
	s.Spec.BackupPolicy.Immediate = false
	if step, _ := Plan(s); step != (TakeSnapshot{Number: 1}) {
		t.Errorf("%#v", step)
	}
	if err := s.Problem; err != nil {
		t.Log(err)
	}
}

// An interval that is written in nanoseconds, or means never.
func TestAnEndlessIntervalTakesNoSnapshotAfterTheOther(t *testing.T) {
	for _, seconds := range []int64{10_000_000_000, 3_600_000_000_000, 86_400_000_000_000} {
		s := series(proven(time.Hour), func(s *State) { s.Spec.BackupPolicy.BackupIntervalInSecond = seconds })
		if s.Problem != nil {
			continue
		}
		if step, _ := Plan(s); step == (TakeSnapshot{Number: 1}) {
			t.Errorf("an interval of %d s is due an hour after the newest snapshot", seconds)
		}
		w := newWorld(t)
		for range 3 {
			w.attempt(s)
		}
		if len(w.saves) > 1 {
			t.Errorf("an interval of %d s: %d snapshots in one second", seconds, len(w.saves))
		}
	}
}
