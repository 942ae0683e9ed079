package backup

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// has reports whether the store has the snapshot that a status names.
func (w *world) has(s *v1beta2.Snapshot) bool {
	key := strings.TrimPrefix(s.Path, "bucket/")
	keys := "\n" + strings.Join(w.keys(), "\n") + "\n"
	return strings.Contains(keys, "\n"+key+"\n") && strings.Contains(keys, "\n"+snapshot.ManifestKey(key)+"\n")
}

func TestFailedVerificationsDeleteNoVerifiedSnapshot(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{}, nil)
	good := w.attempt(series(keep(2), verifies))
	drilling(w, snapshot.RestoreTestResult{}, snapshot.ErrDiffers)
	for hour := range 5 {
		w.now = at(t0.Add(time.Duration(hour+1) * time.Hour))
		if r := w.attempt(series(keep(2), verifies)); r.Failure == nil || r.Pruned > 0 {
			t.Fatalf("attempt %d: %+v", hour, r)
		}
	}
	if !w.has(good.Snapshot) {
		t.Fatalf("the only verified snapshot is deleted, left %q", w.keys())
	}
	w.now = at(t0.Add(6 * time.Hour))
	drilling(w, snapshot.RestoreTestResult{}, nil)
	if r := w.attempt(series(keep(2), verifies)); r.Failure != nil || !w.has(r.Snapshot) {
		t.Errorf("after the next success: %+v", r)
	}
}

func TestAFailedVerificationTakesNoSnapshotBeforeTheNextIsDue(t *testing.T) {
	w := newWorld(t)
	read := drilling(w, snapshot.RestoreTestResult{}, snapshot.ErrDiffers)
	first := w.attempt(series(verifies))
	for minute := range 12 {
		w.now = at(t0.Add(time.Duration(minute*5) * time.Minute))
		r := w.attempt(series(verifies, func(s *State) { s.Status.LastDrill = first.Drill }))
		if r.Failure == nil || r.Failure.Reason != "SnapshotCorrupt" {
			t.Fatalf("minute %d: %+v", minute*5, r)
		}
	}
	if len(w.saves) != 1 || len(*read) != 1 {
		t.Errorf("%d snapshots taken and %d read back in one hour", len(w.saves), len(*read))
	}
}

func TestASnapshotThatCouldNotBeVerifiedReplacesNoneInTheStore(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{}, nil)
	named := w.attempt(series(keep(1), verifies)).Snapshot
	w.now = at(t0.Add(time.Hour))
	drilling(w, snapshot.RestoreTestResult{}, errors.New("connection reset"))
	if r := w.attempt(series(keep(1), verifies)); r.Failure == nil || !w.has(named) {
		t.Errorf("%+v; the status names %s, which is deleted: left %q", r, named.Path, w.keys())
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
	w := newWorld(t)
	first := w.attempt(series(keep(1)))
	w.store = unreadable{w.store, "T100000Z"}
	for hour := range 3 {
		w.now = at(t0.Add(time.Duration(hour+1) * time.Hour))
		r := w.attempt(series(keep(1)))
		if r.Failure != nil || r.Found || !w.has(r.Snapshot) {
			t.Fatalf("%+v", r)
		}
		if hour > 0 && r.Pruned != 1 {
			t.Errorf("pruned %d", r.Pruned)
		}
		if !strings.Contains(r.PruneProblem, "1 manifest cannot be read") {
			t.Errorf("the status does not report it: %q", r.PruneProblem)
		}
	}
	if !w.has(first.Snapshot) {
		t.Error("the unreadable snapshot is deleted")
	}
}

func TestSnapshotsFromTheFutureDoNotDeleteTheNewOne(t *testing.T) {
	w := newWorld(t)
	w.now = at(t0.AddDate(1, 0, 0))
	w.attempt(series(keep(1)))
	for hour := range 3 {
		w.now = at(t0.Add(time.Duration(hour) * time.Hour))
		r := w.attempt(series(keep(1)))
		if r.Failure != nil || r.Found || !w.has(r.Snapshot) {
			t.Fatalf("%+v, left %q", r, w.keys())
		}
	}
}

func TestAnEmptyKeyspaceDoesNotDeleteTheSnapshotsBeforeIt(t *testing.T) {
	w := newWorld(t)
	w.content = 1000
	var full []*v1beta2.Snapshot
	for hour := range 3 {
		w.now = at(t0.Add(time.Duration(hour) * time.Hour))
		full = append(full, w.attempt(series(keep(3))).Snapshot)
	}
	w.content = 3
	for hour := range 9 {
		w.now = at(t0.Add(time.Duration(hour+3) * time.Hour))
		r := w.attempt(series(keep(3)))
		if r.Failure != nil || !strings.Contains(r.PruneProblem, "3 keys") {
			t.Fatalf("the status does not report it: %+v", r)
		}
	}
	for _, s := range full {
		if !w.has(s) {
			t.Errorf("%s with 1000 keys is deleted", s.Path)
		}
	}
	if keys := w.keys(); len(keys) != 2*(3+3) {
		t.Errorf("the small ones are not pruned: %q", keys)
	}
}

// Without this, a node whose clock is ten days ahead during one run deletes the history of keepWithin.
func TestTheClockOfTheStoreDecidesWhatKeepWithinDeletes(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
	present := time.Now()
	for _, now := range []time.Time{present.Add(-2 * time.Hour), present.Add(-time.Hour), present.Add(240 * time.Hour)} {
		w.now = func() time.Time { return now }
		r := w.attempt(s)
		if r.Failure != nil || r.Pruned > 0 {
			t.Errorf("at %s: %d deleted, %+v", now, r.Pruned, r.Failure)
		}
		if ahead := now.After(present); ahead != strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
			t.Errorf("at %s the status says %q", now, r.PruneProblem)
		}
	}
}
