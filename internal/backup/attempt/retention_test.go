package attempt_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

func TestFailedVerificationsDeleteNoVerifiedSnapshot(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{}, nil)
	good := w.Attempt(statetest.Series(statetest.Keep(2), statetest.Verifies))
	attempttest.Drilling(w, proof.RestoreTestResult{}, proof.ErrDiffers)
	for hour := range 5 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour+1) * time.Hour))
		if r := w.Attempt(statetest.Series(statetest.Keep(2), statetest.Verifies)); r.Failure == nil || r.Pruned > 0 {
			t.Fatalf("attempt %d: %+v", hour, r)
		}
	}
	if !w.Has(good.Snapshot) {
		t.Fatalf("the only verified snapshot is deleted, left %q", w.Keys())
	}
	w.Now = statetest.At(statetest.T0.Add(6 * time.Hour))
	attempttest.Drilling(w, proof.RestoreTestResult{}, nil)
	if r := w.Attempt(statetest.Series(statetest.Keep(2), statetest.Verifies)); r.Failure != nil || !w.Has(r.Snapshot) {
		t.Errorf("after the next success: %+v", r)
	}
}

func TestAFailedVerificationTakesNoSnapshotBeforeTheNextIsDue(t *testing.T) {
	w := attempttest.NewWorld(t)
	read := attempttest.Drilling(w, proof.RestoreTestResult{}, proof.ErrDiffers)
	first := w.Attempt(statetest.Series(statetest.Verifies))
	for minute := range 12 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(minute*5) * time.Minute))
		r := w.Attempt(statetest.Series(statetest.Verifies, func(s *state.State) { s.Status.LastDrill = first.Drill }))
		if r.Failure == nil || r.Failure.Reason != "SnapshotCorrupt" {
			t.Fatalf("minute %d: %+v", minute*5, r)
		}
	}
	if len(w.Saves) != 1 || len(*read) != 1 {
		t.Errorf("%d snapshots taken and %d read back in one hour", len(w.Saves), len(*read))
	}
}

func TestASnapshotThatCouldNotBeVerifiedReplacesNoneInTheStore(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{}, nil)
	named := w.Attempt(statetest.Series(statetest.Keep(1), statetest.Verifies)).Snapshot
	w.Now = statetest.At(statetest.T0.Add(time.Hour))
	attempttest.Drilling(w, proof.RestoreTestResult{}, errors.New("connection reset"))
	if r := w.Attempt(statetest.Series(statetest.Keep(1), statetest.Verifies)); r.Failure == nil || !w.Has(named) {
		t.Errorf("%+v; the status names %s, which is deleted: left %q", r, named.Path, w.Keys())
	}
}

// unreadable is a store in which one object cannot be read, such as one in an archive.
type unreadable struct {
	objstore.Store
	part string
}

func (u unreadable) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if strings.Contains(key, u.part) {
		return nil, errors.New("403 InvalidObjectState")
	}
	return u.Store.Get(ctx, key)
}

func TestOneUnreadableManifestDoesNotStopTheSeries(t *testing.T) {
	w := attempttest.NewWorld(t)
	first := w.Attempt(statetest.Series(statetest.Keep(1)))
	w.Store = unreadable{Store: w.Store, part: "T100000Z"}
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour+1) * time.Hour))
		r := w.Attempt(statetest.Series(statetest.Keep(1)))
		if r.Failure != nil || r.Found || !w.Has(r.Snapshot) {
			t.Fatalf("%+v", r)
		}
		if hour > 0 && r.Pruned != 1 {
			t.Errorf("pruned %d", r.Pruned)
		}
		if !strings.Contains(r.PruneProblem, "1 manifest cannot be read") {
			t.Errorf("the status does not report it: %q", r.PruneProblem)
		}
	}
	if !w.Has(first.Snapshot) {
		t.Error("the unreadable snapshot is deleted")
	}
}

func TestSnapshotsFromTheFutureDoNotDeleteTheNewOne(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Now = statetest.At(statetest.T0.AddDate(1, 0, 0))
	w.Attempt(statetest.Series(statetest.Keep(1)))
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		r := w.Attempt(statetest.Series(statetest.Keep(1)))
		if r.Failure != nil || r.Found || !w.Has(r.Snapshot) {
			t.Fatalf("%+v, left %q", r, w.Keys())
		}
	}
}

func TestAnEmptyKeyspaceDoesNotDeleteTheSnapshotsBeforeIt(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Content = 1000
	var full []*v1beta2.Snapshot
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		full = append(full, w.Attempt(statetest.Series(statetest.Keep(3))).Snapshot)
	}
	w.Content = 3
	for hour := range 9 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour+3) * time.Hour))
		r := w.Attempt(statetest.Series(statetest.Keep(3)))
		if r.Failure != nil || !strings.Contains(r.PruneProblem, "3 keys") {
			t.Fatalf("the status does not report it: %+v", r)
		}
	}
	for _, s := range full {
		if !w.Has(s) {
			t.Errorf("%s with 1000 keys is deleted", s.Path)
		}
	}
	if keys := w.Keys(); len(keys) != 2*(3+3) {
		t.Errorf("the small ones are not pruned: %q", keys)
	}
}

// Without this, a node whose clock is ten days ahead during one run deletes the history of keepWithin.
func TestTheClockOfTheStoreDecidesWhatKeepWithinDeletes(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
	present := time.Now()
	for _, now := range []time.Time{present.Add(-2 * time.Hour), present.Add(-time.Hour), present.Add(240 * time.Hour)} {
		w.Now = func() time.Time { return now }
		r := w.Attempt(s)
		if r.Failure != nil || r.Pruned > 0 {
			t.Errorf("at %s: %d deleted, %+v", now, r.Pruned, r.Failure)
		}
		if ahead := now.After(present); ahead != strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
			t.Errorf("at %s the status says %q", now, r.PruneProblem)
		}
	}
}
