package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

func TestARestoreTestIsCountedBeforeItStarts(t *testing.T) {
	bubble(t, "the status counts the test before it starts", func(t *testing.T) {
		r := newRig(t, object(series(proven(time.Minute), drillsAt("* * * * *"))))
		r.now = at(t0)
		counted := int32(0)
		r.ends = func(context.Context) Result {
			counted = r.backup().Status.DrillAttempts
			return Result{EndedAt: t0, Failure: &Failure{v1beta2.ReasonStoreUnreachable, "reset"}}
		}
		r.pass()
		if r.begun != 1 || counted != 1 {
			t.Errorf("%d tests began, and %d were counted at the start", r.begun, counted)
		}
	})
	bubble(t, "the test does not start if the status cannot be written", func(t *testing.T) {
		r := newRig(t, object(series(proven(time.Minute), drillsAt("* * * * *"))))
		r.now = at(t0)
		r.patchErr = errors.New("the API server is down")
		if _, err := r.Reconcile(t.Context(), request); err == nil || r.begun > 0 {
			t.Errorf("error %v, %d tests began", err, r.begun)
		}
	})
}

func TestARestoreTestThatEndsTheOperatorIsNotRepeatedAtOnce(t *testing.T) {
	s := series(proven(time.Minute), drillsAt("* * * * *"))
	wait := time.Duration(0)
	for n := int32(1); n <= 12; n++ {
		step, _ := Plan(s)
		if step != (Drill{Number: n, Path: s.Status.Snapshot.Path}) {
			t.Fatalf("attempt %d: %#v", n, step)
		}
		s.Status = NewStatus(s, step, nil)
		// The operator ends here, and the next one finds no attempt. It takes the snapshots that are due.
		s.Status.Snapshot.CreatedAt = stamp(s.Now)
		step, _ = Plan(s)
		next, ok := step.(Scheduled)
		if !ok || next.Drill.Sub(s.Now) < min(2*wait, 6*time.Hour) || next.Drill.Sub(s.Now) < time.Minute {
			t.Fatalf("after attempt %d: %#v", n, step)
		}
		s.Status = NewStatus(s, step, nil)
		c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionVerified)
		if c == nil || c.Status != "Unknown" || !strings.Contains(c.Message, "The operator was stopped during attempt") {
			t.Fatalf("Verified is %+v", c)
		}
		wait, s.Now = next.Drill.Sub(s.Now), next.Drill
		s.Status.Snapshot.CreatedAt = stamp(s.Now)
	}
}

func TestASnapshotIsNotCondemnedForLackOfMemory(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{}, dbfile.ErrMemory)
	r := w.attempt(one(verifies))
	if r.Failure == nil || r.Failure.Reason != "RestoreTestTooLarge" || r.Drill != nil || !strings.Contains(r.Failure.Message, "restoreTests.memory") {
		t.Errorf("%+v", r)
	}
	for _, key := range w.keys() {
		if snapshot.IsVerdict(key) {
			t.Errorf("there is a verdict %s", key)
		}
	}
}

func TestRestoreTestsRunOneAfterTheOther(t *testing.T) {
	bubble(t, "by default", func(t *testing.T) {
		w := newWorld(t)
		running, most := 0, 0
		w.drill = func(context.Context, snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error) {
			running++
			most = max(most, running)
			<-time.After(time.Minute)
			running--
			return snapshot.RestoreTestResult{Compared: true}, nil
		}
		results := make(chan Result)
		for range 3 {
			o := jobSpecOf(series(proven(time.Minute)))
			o.Kind, o.Timeout = KindDrill, 90*time.Second
			go func() { results <- w.job.attempt(t.Context(), o, &jobProgress{}) }()
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

func TestMemoryOfTheOperatorIsDividedBetweenItAndItsRestoreTests(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		total, tests, memory int64
		each, left           int64
		notice               bool
	}{
		"the operator and its tests have enough memory": {2048, 1, 1024, 1024, 1024, false},
		"the tests get less memory than requested":      {1024, 2, 512, 384, 256, true},
		"there is too little memory for any test":       {300, 1, 512, 0, 300, true},
		"tests without a limit":                         {1024, 1, 0, 0, 1024, false},
		"the operator has much memory":                  {1 << 20, 1, 512, 512, 1<<20 - 512, false},
	} {
		t.Run(name, func(t *testing.T) {
			limit := setMemoryLimit(t, test.total*mib)
			got, notice, err := openTests(Options{MaxRestoreTests: int(test.tests), RestoreTestMemory: test.memory * mib})
			if (err != nil) != (test.left == 300) || err == nil && (notice != "") != test.notice {
				t.Fatalf("notice %q, error %v", notice, err)
			}
			if got.memory != test.each*mib || limit() != test.left*mib {
				t.Errorf("each test has %d MiB, and the operator %d MiB", got.memory/mib, limit()/mib)
			}
		})
	}
}

// setMemoryLimit sets the memory limit of this process during the test, and returns a function that reads it.
func setMemoryLimit(t *testing.T, bytes int64) (read func() int64) {
	t.Helper()
	before := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	return func() int64 { return debug.SetMemoryLimit(-1) }
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
			w := newWorld(t)
			w.drill, w.tests.try = snapshot.RunRestoreTest, try
			w.save = func(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
				return snapshot.Saved{}, w.store.Put(ctx, r.Key, bytes.NewReader(dbfiletest.New(t, 1).Put(10, 10).Snapshot()))
			}
			r := w.attempt(one(verifies))
			if r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRetrying || !strings.Contains(r.Failure.Message, "no result") {
				t.Errorf("failure %+v", r.Failure)
			}
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

// The docs promise that a restore test that cannot be carried out is repeated after 1 minute. The pause then doubles up to 6
// hours. Without this, the operator downloads the whole snapshot every 5 minutes, forever.
func TestAVerificationThatCannotBeCarriedOutIsNotRepeatedEveryFiveMinutes(t *testing.T) {
	s := series(verifies, proven(2*time.Hour))
	s.Attempt = &Attempt{Generation: 1, Number: 40, StartedAt: t0, Result: &Result{EndedAt: t0, Failure: &Failure{v1beta2.ReasonRestoreTestTooLarge, "too large"}}}
	step, _ := Plan(s)
	status := NewStatus(s, step, nil)
	if pause := status.NextTime.Sub(t0); pause < time.Hour {
		t.Errorf("attempt 41, which downloads the whole snapshot again, begins after %s", pause)
	}
}

// Without this, a series whose restore tests time out takes no snapshot while the operator waits to repeat the test.
func TestTheNextSnapshotIsTakenInTimeAlthoughTheLastCouldNotBeTested(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{}, errors.New("connection reset"))
	s := series(verifies)
	r := w.attempt(s)
	if r.Failure == nil || !r.Untested.Equal(t0.Truncate(time.Second)) {
		t.Fatalf("%+v", r)
	}
	for number, want := range map[int32]time.Duration{1: time.Minute, 3: 4 * time.Minute, 40: time.Hour} {
		s.Attempt = &Attempt{Generation: 1, Number: number, StartedAt: t0, Result: &Result{EndedAt: t0, Untested: t0, Failure: r.Failure}}
		if pause := NewStatus(s, Report{}, nil).NextTime.Sub(t0); pause != want {
			t.Errorf("after attempt %d: %s, want %s", number, pause, want)
		}
	}
}
