package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// These tests are about what the status claims: a snapshot that is not there, not the one that was asked for, or not tested, must not be
// reported as one that is.

// A script sets the annotation backup-now to the same words before each upgrade. It must get a new snapshot each time.
func TestARepeatedRequestTakesANewSnapshot(t *testing.T) {
	w := newWorld(t)
	status := v1beta2.EtcdBackupStatus{}
	taken := map[string]bool{}
	for day, request := range []string{"before upgrade", "x", "before upgrade", "x"} {
		w.now = at(t0.Add(time.Duration(day) * 24 * time.Hour))
		s := series(func(s *State) { s.Status, s.Request, s.Now = status, request, w.now() })
		if !s.requested() {
			t.Fatalf("day %d: the request %q counts as handled", day, request)
		}
		for try := range 2 { // the second time, the operator was killed before it wrote the status
			r := w.attempt(s)
			if r.Failure != nil || taken[r.Snapshot.Path] || r.Found != (try == 1) {
				t.Fatalf("day %d, try %d: snapshot %+v, found %v, failure %v", day, try, r.Snapshot, r.Found, r.Failure)
			}
			s.Attempt = &Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: s.Now, Result: &r}
		}
		taken[s.Attempt.Result.Snapshot.Path] = true
		status = NewStatus(s, Report{}, nil)
	}
}

// The clock of the node was five hours ahead for one run. Five hours later, the snapshot of that run must not count as new.
func TestASnapshotByAClockThatWasAheadIsNeverNew(t *testing.T) {
	w := newWorld(t)
	s := series()
	w.now = at(time.Now().Add(5 * time.Hour))
	ahead := w.attempt(s).Snapshot
	w.now = at(time.Now().Add(5*time.Hour + time.Minute))
	r := w.attempt(s)
	if r.Failure != nil || r.Found || r.Snapshot.Path == ahead.Path {
		t.Errorf("found %v, snapshot %s, failure %v", r.Found, r.Snapshot.Path, r.Failure)
	}
}

// A copy that is repeated without a pause lists both buckets many times a second, and keeps a worker busy.
func TestATimeInTheFutureRepeatsNoCopyWithoutAPause(t *testing.T) {
	future := &metav1.Time{Time: t0.Add(3 * time.Hour)}
	for name, c := range map[string]change{
		"the old snapshots were deleted in the future": func(s *State) { s.Status.LastPruneTime = future },
		"the last snapshot was taken in the future": func(s *State) {
			s.Status.LastSuccessDate, s.Status.Snapshot.CreatedAt, s.Spec.BackupPolicy.Suspend = future, stamp(future.Time), true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := series(proven(time.Minute), ofKnownCluster, copies, copiedAt("a", stamp(t0.Add(-time.Minute)), 0))
			s.Status.Snapshot.SHA256 = "a"
			c(&s)
			count := 0
			for i := range 60 {
				s.Now = t0.Add(time.Duration(i) * 10 * time.Second)
				step, is := next(s).(Copy)
				if !is {
					continue
				}
				count++
				s.Status = NewStatus(s, step, nil)
				s.Copy = &Attempt{Kind: KindCopy, Generation: 1, Number: step.Number, StartedAt: s.Now, Result: &Result{EndedAt: s.Now, Kept: []v1beta2.Snapshot{{SHA256: "z", CreatedAt: stamp(t0.Add(-time.Minute))}}}}
				s.Status = NewStatus(s, ReportCopy{}, nil)
				s.Copy = nil
			}
			if count > 4 {
				t.Errorf("%d copies in 10 minutes", count)
			}
		})
	}
}

// The spec now names another cluster. Until the next month, the status would call a snapshot of the old cluster the newest one.
func TestASnapshotOfAnotherClusterDoesNotCount(t *testing.T) {
	s := series(proven(time.Minute), of(available()))
	s.CreatedAt = t0.Add(-1000 * time.Hour)
	s.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "0 0 1 * *"}
	if step, is := next(s).(Scheduled); !is {
		t.Fatalf("a snapshot of the cluster does not count: %+v", step)
	}
	s.Spec.EtcdCluster.Name = "other"
	if step, is := next(s).(TakeSnapshot); !is {
		t.Errorf("the snapshot of another cluster counts: %+v", step)
	}
}

// The same path may lead to another store after an edit. Its object was never tested.
func TestAOneShotInAnotherStoreIsTested(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{Compared: true}, nil)
	s := one(verifies)
	r := w.attempt(s)
	s.Attempt = &Attempt{Generation: 1, Number: 1, StartedAt: s.Now, Result: &r}
	s.Status = NewStatus(s, Report{}, nil)
	s.Attempt = nil

	other := newWorld(t)
	var first *snapshot.Saved
	save := other.save
	other.save = func(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
		if first != nil { // the second time, the object exists
			return snapshot.Saved{Manifest: first.Manifest, Found: true}, nil
		}
		saved, err := save(ctx, r)
		first = &saved
		return saved, err
	}
	for try := range 2 {
		tested := drilling(other, snapshot.RestoreTestResult{}, snapshot.ErrNotTested)
		if r := other.attempt(s); r.Failure == nil || len(*tested) != 1 {
			t.Errorf("try %d: tests in the other store: %q, failure %v", try, *tested, r.Failure)
		}
	}
}

// After a quorum was lost, the cluster continues with a survivor that may lack the last writes, under the same ID. The snapshot from before may
// be their only copy, so a difference must not condemn it.
func TestASnapshotFromBeforeARecoveryIsNotComparedWithTheCluster(t *testing.T) {
	w := newWorld(t)
	db := dbfiletest.New(t, memberOfDatabase).Put(10, 200)
	w.save, w.drill = snapshot.Save, snapshot.RunRestoreTest
	w.source = func(string, ask.Access) snapshot.Source { return steady(db.Snapshot()) }
	w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
		a := member("a", db.Revision())
		a.Status.MemberID = memberOfDatabase
		return []ask.Answer{a}
	}
	hash := db.HashKV(db.Revision())
	w.hash = func(context.Context, string, ask.Access, int64) (uint32, int64, error) { return hash, 0, nil }
	cluster := available()
	cluster.UID = "uid"
	w.secrets = apiWith(t, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd", UID: "uid"}})
	s := series(of(cluster), drillsAt("@daily"))
	r := w.attempt(s)
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	s.Status.Snapshot = r.Snapshot
	o := jobSpecOf(s)
	o.Kind = KindDrill
	if d := w.job.attempt(t.Context(), o, &jobProgress{}); d.Failure != nil || d.Drill.Result != v1beta2.DrillPassed || !d.Drill.Compared {
		t.Fatalf("before the recovery: %+v, failure %v", d.Drill, d.Failure)
	}
	hash++
	recovered := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd", UID: "uid"}}
	recovered.Status.LastRecovery = &v1beta2.PastRecovery{Member: "etcd-0", StartedAt: metav1.Time{Time: t0}}
	w.secrets = apiWith(t, recovered)
	d := w.job.attempt(t.Context(), o, &jobProgress{})
	if d.Failure != nil || d.Drill.Result != v1beta2.DrillPassed || d.Drill.Compared || !strings.Contains(d.Drill.Message, "recover") {
		t.Errorf("after the recovery: %+v, failure %v", d.Drill, d.Failure)
	}
}

// A disk that is missing says nothing about the snapshot in the store.
func TestAFailureOfTheMachineCondemnsNoSnapshot(t *testing.T) {
	missing := &fs.PathError{Op: "fork/exec", Path: "/backup-operator", Err: fs.ErrNotExist}
	for _, err := range []error{fmt.Errorf("%w: %w", snapshot.ErrNotTested, missing), fmt.Errorf("%w: %w", snapshot.ErrDisk, missing)} {
		if condemns(err) {
			t.Errorf("%v condemns the snapshot", err)
		}
	}
}

// cluster-operator reports the name of the Secret with etcd's user as soon as the spec has it, even while authentication is off.
func TestAMissingUserOfAnEtcdClusterStopsNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd"}}
		cluster.Status.OperatorAuthSecret, cluster.Status.ClusterID = "login", "0000000000000001"
		cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue}}
		cluster.Status.MemberStatuses = []v1beta2.MemberStatus{{ClientURL: "http://a:2379"}}
		b := object(one(of(nil)))
		b.Status = v1beta2.EtcdBackupStatus{}
		r := newRig(t, b, cluster)
		r.pass()
		r.pass()
		if ready := meta.FindStatusCondition(r.backup().Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Reason == v1beta2.ReasonSecretMissing {
			t.Errorf("no attempt was started: %s", ready.Message)
		}
	})
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
	w := newWorld(t)
	s := series()
	for h := range 3 {
		w.now = at(t0.Add(time.Duration(h) * time.Hour))
		s.Status.Snapshot = w.attempt(s).Snapshot
	}
	w.store = lockedBucket{w.store, new(int)}
	s = series(suspends, keep(1), func(n *State) { n.Status.Snapshot = s.Status.Snapshot })
	for h := range 2 {
		w.now = at(t0.Add(time.Duration(5+h) * time.Hour))
		o := jobSpecOf(s)
		o.Kind = KindPrune
		if r := w.job.attempt(t.Context(), o, &jobProgress{}); r.Failure != nil || len(r.Kept) != 1 {
			t.Errorf("run %d: kept %d snapshots, failure %v", h, len(r.Kept), r.Failure)
		}
	}
}

// Each run leaves one object more. With a retention period of a year, a run would send thousands of requests in vain.
func TestObjectsOfTheClockThatTheStoreKeepsAreNotAllTriedAgain(t *testing.T) {
	refused := 0
	store := lockedBucket{newWorld(t).store, &refused}
	for i := range 3 * refusals {
		refused = 0
		now := func() time.Time { return t0.Add(time.Duration(i) * time.Hour) }
		if _, err := measureAhead(t.Context(), store, snapshot.Series{Folder: "folder", Namespace: "ns", Cluster: "example"}, "uid", now); err != nil {
			t.Fatal(err)
		}
		if refused > refusals {
			t.Fatalf("run %d sent %d requests in vain, the limit is %d", i, refused, refusals)
		}
	}
}

// The list of snapshots and the result of the test are in one status, and must agree.
func TestTheStatusShowsTheResultOfTheLastTestAtItsSnapshot(t *testing.T) {
	s := series(proven(time.Minute), drillsAt("@daily"))
	s.Status.Snapshot.RestoreTest = v1beta2.DrillPassed
	s.Status.Snapshots = []v1beta2.Snapshot{*s.Status.Snapshot}
	s.Attempt = &Attempt{Kind: KindDrill, Generation: 1, Number: 1, Result: &Result{EndedAt: t0, Drill: &v1beta2.BackupDrill{
		Path: s.Status.Snapshot.Path, Result: v1beta2.DrillFailed, Time: metav1.Time{Time: t0}, Message: "bad",
	}}}
	s.Status = NewStatus(s, Report{}, nil)
	if s.Status.Snapshot.RestoreTest != v1beta2.DrillFailed || s.Status.Snapshots[0].RestoreTest != v1beta2.DrillFailed {
		t.Errorf("the snapshot has the result %s, and in the list %s", s.Status.Snapshot.RestoreTest, s.Status.Snapshots[0].RestoreTest)
	}
	s.Attempt, s.Spec.Drill = nil, nil
	ready := func() bool {
		return meta.IsStatusConditionTrue(NewStatus(s, Scheduled{At: t0.Add(time.Hour)}, nil).Conditions, v1beta2.ConditionReady)
	}
	if ready() {
		t.Error("the series is Ready, and its newest snapshot cannot be restored")
	}
	s.Status.Snapshot.Path += ".newer"
	if !ready() {
		t.Error("without tests, a newer snapshot does not make the series Ready again")
	}
}

// A damaged copy is no reason to suspect the members.
func TestADamagedObjectInTheFirstLocationIsNotBlamedOnTheMembers(t *testing.T) {
	err := fmt.Errorf("copy snapshot x: %w: %w", snapshot.ErrCopySource, dbfile.ErrCorrupt)
	if f := classify(err, jobSpec{Kind: KindCopy}, false); strings.Contains(f.Message, "stored no snapshot") || !strings.Contains(f.Message, "first location") {
		t.Error(f.Message)
	}
}

// The status has a snapshot by a clock that was ahead. Each retry of a request would take another snapshot if that one counted as newer.
func TestASnapshotInTheFutureRepeatsNoRequest(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) {
		s.Request = "now"
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db", CreatedAt: stamp(t0.Add(5 * time.Hour))}
	})
	first := w.attempt(s)
	if r := w.attempt(s); first.Failure != nil || !r.Found || r.Snapshot.Path != first.Snapshot.Path {
		t.Errorf("the second attempt took %s, the first %s, failure %v", r.Snapshot.Path, first.Snapshot.Path, first.Failure)
	}
}
