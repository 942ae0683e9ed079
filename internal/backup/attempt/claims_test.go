package attempt_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// These tests are about what the status claims: a snapshot that is not there, not the one that was asked for, or not tested, must not be
// reported as one that is.

// A script sets the annotation backup-now to the same words before each upgrade. It must get a new snapshot each time.
func TestARepeatedRequestTakesANewSnapshot(t *testing.T) {
	w := attempttest.NewWorld(t)
	reported := v1beta2.EtcdBackupStatus{}
	taken := map[string]bool{}
	for day, request := range []string{"before upgrade", "x", "before upgrade", "x"} {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(day) * 24 * time.Hour))
		s := statetest.Series(func(s *state.State) { s.Status, s.Request, s.Now = reported, request, w.Now() })
		if !s.Requested() {
			t.Fatalf("day %d: the request %q counts as handled", day, request)
		}
		for try := range 2 { // the second time, the operator was killed before it wrote the status
			r := w.Attempt(s)
			if r.Failure != nil || taken[r.Snapshot.Path] || r.Found != (try == 1) {
				t.Fatalf("day %d, try %d: snapshot %+v, found %v, failure %v", day, try, r.Snapshot, r.Found, r.Failure)
			}
			s.Attempt = &state.Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: s.Now, Result: &r}
		}
		taken[s.Attempt.Result.Snapshot.Path] = true
		reported = status.NewStatus(s, plan.Report{}, nil)
	}
}

// The clock of the node was five hours ahead for one run. Five hours later, the snapshot of that run must not count as new.
func TestASnapshotByAClockThatWasAheadIsNeverNew(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series()
	w.Now = statetest.At(time.Now().Add(5 * time.Hour))
	ahead := w.Attempt(s).Snapshot
	w.Now = statetest.At(time.Now().Add(5*time.Hour + time.Minute))
	r := w.Attempt(s)
	if r.Failure != nil || r.Found || r.Snapshot.Path == ahead.Path {
		t.Errorf("found %v, snapshot %s, failure %v", r.Found, r.Snapshot.Path, r.Failure)
	}
}

// The same path may lead to another store after an edit. Its object was never tested.
func TestAOneShotInAnotherStoreIsTested(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{Compared: true}, nil)
	s := statetest.One(statetest.Verifies)
	r := w.Attempt(s)
	s.Attempt = &state.Attempt{Generation: 1, Number: 1, StartedAt: s.Now, Result: &r}
	s.Status = status.NewStatus(s, plan.Report{}, nil)
	s.Attempt = nil

	other := attempttest.NewWorld(t)
	var first *save.Saved
	saveSnapshot := other.Save
	other.Save = func(ctx context.Context, r save.Request) (save.Saved, error) {
		if first != nil { // the second time, the object exists
			return save.Saved{Manifest: first.Manifest, Found: true}, nil
		}
		saved, err := saveSnapshot(ctx, r)
		first = &saved
		return saved, err
	}
	for try := range 2 {
		tested := attempttest.Drilling(other, proof.RestoreTestResult{}, proof.ErrNotTested)
		if r := other.Attempt(s); r.Failure == nil || len(*tested) != 1 {
			t.Errorf("try %d: tests in the other store: %q, failure %v", try, *tested, r.Failure)
		}
	}
}

// After a quorum was lost, the cluster continues with a survivor that may lack the last writes, under the same ID. The snapshot from before may
// be their only copy, so a difference must not condemn it.
func TestASnapshotFromBeforeARecoveryIsNotComparedWithTheCluster(t *testing.T) {
	w := attempttest.NewWorld(t)
	db := dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200)
	w.Save, w.Drill = save.Snapshot, proof.RunRestoreTest
	w.Source = func(string, ask.Access) save.Source { return attempttest.Steady(db.Snapshot()) }
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
		a := clientstest.Member("a", db.Revision())
		a.Status.MemberID = attempttest.MemberOfDatabase
		return []ask.Answer{a}
	}
	hash := db.HashKV(db.Revision())
	w.Hash = func(context.Context, string, ask.Access, int64) (uint32, int64, error) { return hash, 0, nil }
	cluster := statetest.Available()
	cluster.UID = "uid"
	w.Secrets = apiWith(t, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd", UID: "uid"}})
	s := statetest.Series(statetest.Of(cluster), statetest.DrillsAt("@daily"))
	r := w.Attempt(s)
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	s.Status.Snapshot = r.Snapshot
	o := state.JobSpecOf(s)
	o.Kind = state.KindDrill
	if d := w.Run(t.Context(), o, &queue.Progress{}); d.Failure != nil || d.Drill.Result != v1beta2.DrillPassed || !d.Drill.Compared {
		t.Fatalf("before the recovery: %+v, failure %v", d.Drill, d.Failure)
	}
	hash++
	recovered := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd", UID: "uid"}}
	recovered.Status.LastRecovery = &v1beta2.PastRecovery{Member: "etcd-0", StartedAt: metav1.Time{Time: statetest.T0}}
	w.Secrets = apiWith(t, recovered)
	d := w.Run(t.Context(), o, &queue.Progress{})
	if d.Failure != nil || d.Drill.Result != v1beta2.DrillPassed || d.Drill.Compared || !strings.Contains(d.Drill.Message, "recover") {
		t.Errorf("after the recovery: %+v, failure %v", d.Drill, d.Failure)
	}
}

// lockedBucket has a retention policy: it deletes no object before its time.
type lockedBucket struct {
	objstore.Store
	refused *int
}

func (b lockedBucket) Delete(ctx context.Context, key string) error {
	if strings.Contains(key, "/clock-") {
		*b.refused++
		return objstore.Mark(errors.New("403: the object is under a retention policy"), fs.ErrPermission)
	}
	return b.Store.Delete(ctx, key)
}

// A bucket with a retention policy keeps the small object by which the operator compares the clocks. Old snapshots must be deleted nevertheless,
// as soon as the policy lets them.
func TestASuspendedSeriesIsPrunedInABucketWithARetentionPolicy(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series()
	for h := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(h) * time.Hour))
		s.Status.Snapshot = w.Attempt(s).Snapshot
	}
	w.Store = lockedBucket{Store: w.Store, refused: new(int)}
	s = statetest.Series(statetest.Suspends, statetest.Keep(1), func(n *state.State) { n.Status.Snapshot = s.Status.Snapshot })
	for h := range 2 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(5+h) * time.Hour))
		o := state.JobSpecOf(s)
		o.Kind = state.KindPrune
		if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil || len(r.Kept) != 1 {
			t.Errorf("run %d: kept %d snapshots, failure %v", h, len(r.Kept), r.Failure)
		}
	}
}

// Each run leaves one object more. With a retention period of a year, a run would send thousands of requests in vain.
func TestObjectsOfTheClockThatTheStoreKeepsAreNotAllTriedAgain(t *testing.T) {
	refused := 0
	store := lockedBucket{Store: attempttest.NewWorld(t).Store, refused: &refused}
	for i := range 3 * clients.MaxRefusals {
		refused = 0
		now := func() time.Time { return statetest.T0.Add(time.Duration(i) * time.Hour) }
		if _, err := attempt.MeasureAhead(t.Context(), store, snapshot.Series{Folder: "folder", Namespace: "ns", Cluster: "example"}, "uid", now); err != nil {
			t.Fatal(err)
		}
		if refused > clients.MaxRefusals {
			t.Fatalf("run %d sent %d requests in vain, the limit is %d", i, refused, clients.MaxRefusals)
		}
	}
}

// The status has a snapshot by a clock that was ahead. Each retry of a request would take another snapshot if that one counted as newer.
func TestASnapshotInTheFutureRepeatsNoRequest(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) {
		s.Request = "now"
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db", CreatedAt: state.Stamp(statetest.T0.Add(5 * time.Hour))}
	})
	first := w.Attempt(s)
	if r := w.Attempt(s); first.Failure != nil || !r.Found || r.Snapshot.Path != first.Snapshot.Path {
		t.Errorf("the second attempt took %s, the first %s, failure %v", r.Snapshot.Path, first.Snapshot.Path, first.Failure)
	}
}
