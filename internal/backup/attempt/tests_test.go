package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

func TestASnapshotIsNotCondemnedForLackOfMemory(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{}, dbfile.ErrMemory)
	r := w.Attempt(statetest.One(statetest.Verifies))
	if r.Failure == nil || r.Failure.Reason != "RestoreTestTooLarge" || r.Drill != nil || !strings.Contains(r.Failure.Message, "restoreTests.memory") {
		t.Errorf("%+v", r)
	}
	for _, key := range w.Keys() {
		if snapshot.IsVerdict(key) {
			t.Errorf("there is a verdict %s", key)
		}
	}
}

func TestRestoreTestsRunOneAfterTheOther(t *testing.T) {
	statetest.Bubble(t, "by default", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		running, most := 0, 0
		w.Drill = func(context.Context, proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
			running++
			most = max(most, running)
			<-time.After(time.Minute)
			running--
			return proof.RestoreTestResult{Compared: true}, nil
		}
		results := make(chan state.Result)
		for range 3 {
			o := state.JobSpecOf(statetest.Series(statetest.Proven(time.Minute)))
			o.Kind, o.Timeout = state.KindDrill, 90*time.Second
			go func() { results <- w.Run(t.Context(), o, &queue.Progress{}) }()
		}
		for range 3 {
			if r := <-results; r.Failure != nil {
				t.Errorf("%+v", r.Failure)
			}
		}
		if most != 1 {
			t.Errorf("%d restore tests ran at once", most)
		}
	})
}

// A process that cannot be started, because the node has no process or no file descriptor left, says nothing about the
// snapshot. Without this, a good snapshot is marked as failed permanently, and restores skip it.
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
			w := attempttest.NewWorld(t)
			w.Drill, w.Tests.Try = proof.RunRestoreTest, try
			w.Save = func(ctx context.Context, r save.Request) (save.Saved, error) {
				return save.Saved{}, w.Store.Put(ctx, r.Key, bytes.NewReader(dbfiletest.New(t, 1).Put(10, 10).Snapshot()))
			}
			r := w.Attempt(statetest.One(statetest.Verifies))
			if r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRetrying || !strings.Contains(r.Failure.Message, "no result") {
				t.Errorf("failure %+v", r.Failure)
			}
			if r.Drill != nil && r.Drill.Result == v1beta2.DrillFailed {
				t.Errorf("a good snapshot is condemned: %s", r.Drill.Message)
			}
			for _, key := range w.Keys() {
				if strings.HasSuffix(key, "verdict-failed") {
					t.Errorf("there is a verdict %s", key)
				}
			}
		})
	}
}

// Without this, a series whose restore tests time out takes no snapshot while the operator waits to repeat the test.
func TestTheNextSnapshotIsTakenInTimeAlthoughTheLastCouldNotBeTested(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{}, errors.New("connection reset"))
	s := statetest.Series(statetest.Verifies)
	r := w.Attempt(s)
	if r.Failure == nil || !r.Untested.Equal(statetest.T0.Truncate(time.Second)) {
		t.Fatalf("%+v", r)
	}
	for number, want := range map[int32]time.Duration{1: time.Minute, 3: 4 * time.Minute, 40: time.Hour} {
		s.Attempt = &state.Attempt{Generation: 1, Number: number, StartedAt: statetest.T0, Result: &state.Result{EndedAt: statetest.T0, Untested: statetest.T0, Failure: r.Failure}}
		if pause := status.NewStatus(s, plan.Report{}, nil).NextTime.Sub(statetest.T0); pause != want {
			t.Errorf("after attempt %d: %s, want %s", number, pause, want)
		}
	}
}
