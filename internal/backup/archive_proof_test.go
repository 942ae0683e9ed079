package backup

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// later: the newest snapshot is not the first one of its range.
func later(s *State) { s.Status.Snapshot.Revision = 15 }

// earlierOf returns the path of an earlier snapshot of the series.
func earlierOf(s State) string { return s.Target.Bucket + "/" + s.lives() + "0000000000000abc/p.db" }

func provenUpTo(path string, result v1beta2.ProofResult) func(*State) {
	return func(s *State) {
		s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: result, To: path, From: earlierOf(*s), Message: "Revision 12 is damaged."}
	}
}

// Without this proof, a user detects a damaged archive only when a restore fails.
func TestEachSnapshotOfAnArchivedSeriesProvesTheArchive(t *testing.T) {
	newest := archivingState(t).Status.Snapshot.Path
	failedTest := func(s *State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: newest, Result: v1beta2.DrillFailed}
	}
	tried := func(in time.Duration) func(*State) {
		return func(s *State) {
			s.Status.DrillAttempts, s.Status.NextDrillTime = 3, &metav1.Time{Time: s.Now.Add(in)}
		}
	}
	for name, test := range map[string]struct {
		state State
		want  Step
	}{
		"the archive was never proven":                         {archivingState(t, later), Drill{Number: 1, Path: newest}},
		"the archive was proven up to the previous snapshot":   {archivingState(t, later, provenUpTo("before", v1beta2.ProofPassed)), Drill{Number: 1, Path: newest}},
		"the proof up to the previous snapshot failed":         {archivingState(t, later, provenUpTo("before", v1beta2.ProofFailed)), Drill{Number: 1, Path: newest}},
		"the archive was proven up to the newest snapshot":     {archivingState(t, later, provenUpTo(newest, v1beta2.ProofPassed)), nil},
		"the proof up to the newest snapshot failed":           {archivingState(t, later, provenUpTo(newest, v1beta2.ProofFailed)), nil},
		"there is no earlier snapshot in the range":            {archivingState(t, func(s *State) { s.Status.Snapshot.Revision = 10 }), nil},
		"the changes before the snapshot are not archived yet": {archivingState(t, func(s *State) { s.Status.Snapshot.Revision = 21 }), nil},
		"the newest snapshot failed its own test":              {archivingState(t, later, failedTest), nil},
		"the archiver has not read the archive":                {archivingState(t, later, func(s *State) { s.Archive.Surveyed = false }), nil},
		"a snapshot is due":                                    {archivingState(t, later, wants("a gap")), TakeSnapshot{Number: 1, Base: "a gap"}},
		"the last attempt could not be carried out":            {archivingState(t, later, tried(time.Minute)), nil},
		"the next attempt is due":                              {archivingState(t, later, tried(0)), Drill{Number: 4, Path: newest}},
	} {
		t.Run(name, func(t *testing.T) {
			step, rule := Plan(test.state)
			if _, waits := step.(Scheduled); test.want == nil && !waits || test.want != nil && step != test.want {
				t.Errorf("rule %s gives %#v, want %#v", rule, step, test.want)
			}
		})
	}
}

func TestAFailedProofIsReportedUntilOnePasses(t *testing.T) {
	s := archivingState(t, later)
	ended := func(result v1beta2.ProofResult) {
		s.Attempt = &Attempt{Kind: KindDrill, Generation: s.Generation, Number: 1, Result: &Result{
			EndedAt: s.Now, Drill: &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: s.Now}},
			Proof: &v1beta2.ArchiveProof{Result: result, To: s.Status.Snapshot.Path, From: earlierOf(s), Revision: 15, Message: "Revision 12 is damaged.", Time: metav1.Time{Time: s.Now}},
		}}
		events := Report{}.describe(s).Events
		if want := map[v1beta2.ProofResult]string{v1beta2.ProofFailed: "ArchiveDisproven", v1beta2.ProofPassed: "ArchiveProven"}[result]; events[len(events)-1].Reason != want {
			t.Errorf("events %+v, want %s", events, want)
		}
		s.Status = NewStatus(s, Report{}, nil)
		s.Attempt = nil
	}
	ended(v1beta2.ProofFailed)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := conditionOf(s.Status.Conditions, v1beta2.ConditionReady)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonArchiveCorrupt || !strings.Contains(c.Message, "Revision 12 is damaged") {
		t.Errorf("Ready is %+v", c)
	}
	ended(v1beta2.ProofPassed)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if c = conditionOf(s.Status.Conditions, v1beta2.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v after a proof has passed", c)
	}
}

// storedThen is a store that received each object at the time in its name.
type storedThen struct{ objstore.Store }

func (s storedThen) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range s.Store.List(ctx, prefix) {
			if named, ok := snapshot.ParseKey(o.Key); ok {
				o.ModTime = named.Time
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// A damaged range may be recoverable only from the objects that retention would delete.
func TestNothingIsDeletedWhileTheArchiveIsNotProven(t *testing.T) {
	w := newWorld(t)
	w.store = storedThen{w.store}
	s := series(func(s *State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	present := time.Now()
	for hour := range 4 {
		w.now = at(present.Add(time.Duration(hour-10) * time.Hour))
		s.Status.Snapshot = w.attempt(s).Snapshot
		if hour == 1 {
			s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: earlierOf(s)}
		}
	}
	before := len(w.keys())
	s.Status.LastArchiveProof.Result = v1beta2.ProofPassed
	w.now = at(present)
	r := w.attempt(s)
	if after := len(w.keys()); before < 6 || after >= before || r.Pruned == 0 {
		t.Errorf("%d objects while the proof had failed, %d after it passed, %d deleted", before, after, r.Pruned)
	}
	k := &keeper{job: &archiveJob{job: &job{now: time.Now}}, archiving: &archiving{spec: archiveSpec{job: jobSpec{Distrusted: &v1beta2.ArchiveProof{}}}}, outdated: []string{"segment"}}
	if k.prune(t.Context()); len(k.outdated) != 1 {
		t.Error("a segment was deleted")
	}
}

// After a snapshot, the operator lists the outdated segments once. It may take minutes to delete them. The restore test of the newest snapshot
// may fail during that time.
func TestNoSegmentIsDeletedAfterTheNewestSnapshotHasFailedItsTest(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*jobSpec)
		left   int
	}{
		"the test passed": {func(*jobSpec) {}, 0},
		"the test failed, and the spec verifies each snapshot": {func(o *jobSpec) { o.Doubted, o.Keep.Verify = true, true }, 1},
		"the test failed, and the spec has restore tests":      {func(o *jobSpec) { o.Doubted, o.Keep.Tests = true, true }, 1},
		"the test failed, and the spec asks for no tests":      {func(o *jobSpec) { o.Doubted = true }, 0},
	} {
		w := newWorld(t)
		k := &keeper{job: &archiveJob{job: w.job}, archiving: &archiving{}, store: w.store, outdated: []string{"segment"}}
		test.change(&k.spec.job)
		if k.prune(t.Context()); len(k.outdated) != test.left {
			t.Errorf("%s: %d segments are left, want %d", name, len(k.outdated), test.left)
		}
	}
}

// The status listed the points in deleted segments until the next snapshot. A store that keeps deleted objects must not be listed again and
// again.
func TestTheArchiveIsSurveyedAgainAfterADeletion(t *testing.T) {
	w := newWorld(t)
	k := &keeper{job: &archiveJob{job: w.job}, archiving: &archiving{}, store: w.store}
	for range deletionsPerLook + 1 {
		k.outdated = append(k.outdated, "segment")
	}
	for i, want := range []bool{false, true, false} {
		if got := k.prune(t.Context()); got != want {
			t.Errorf("deletion %d: the archive is surveyed again: %t, want %t", i+1, got, want)
		}
	}
	k.outdated = []string{"segment"}
	if k.prune(t.Context()) {
		t.Error("the archive is surveyed again for the same snapshot")
	}
}

func TestARefusedReplayIsNoFaultOfTheDisk(t *testing.T) {
	if refutes(snapshot.ErrDisk) || refutes(nil) || !refutes(errDiverged) || !refutes(&archive.RevisionError{Revision: 3, Err: archive.ErrCorrupt}) {
		t.Error("a full disk must not be told as a damaged archive, and a damaged archive must be told")
	}
}

// After a gap or a restore, or without an identity, the next proof would start at another snapshot and pass. Retention would then
// delete the rest.
func TestAFailedProofIsNotForgottenWhileItsSnapshotExists(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.attempt(s).Snapshot
	o := jobSpecOf(s)
	o.Newest = *first
	o.Newest.ClusterID, o.Newest.Path = "00000000000000ff", "later.db"
	o.Distrusted = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: first.Path, Message: "Revision 12 is damaged."}
	proof, err := w.proveArchive(t.Context(), o, w.store, dbfile.KVHash{Revision: 99}, &jobProgress{})
	if err != nil || proof.Result != v1beta2.ProofFailed || proof.To != "later.db" || proof.From != first.Path {
		t.Errorf("proof %+v, error %v, want the failed one", proof, err)
	}
	o.Distrusted.From = o.Target.Bucket + "/deleted.db"
	if proof, err = w.proveArchive(t.Context(), o, w.store, dbfile.KVHash{Revision: 99}, &jobProgress{}); err != nil || proof.Result != v1beta2.ProofSkipped {
		t.Errorf("proof %+v, error %v, want none after the snapshot was deleted", proof, err)
	}
	o.Prove, o.Encoder.Recipients = true, []string{"age1"}
	o.Distrusted.From = first.Path
	if skipped, err := w.withoutIdentity(t.Context(), o); skipped != nil || err != nil {
		t.Errorf("%+v %v: a failure is replaced by Skipped", skipped, err)
	}
}

// A replay wrote more than its proof had reserved, into the volume of all namespaces.
func TestAReplayThatOutgrowsTheSpoolEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.db")
	j := &job{replay: func(ctx context.Context, o replay.Order) (replay.Result, error) {
		for size := int64(1); size < 100 && ctx.Err() == nil; size++ {
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Progress(size)
		}
		return replay.Result{}, ctx.Err()
	}}
	most := int64(0)
	grow := func(size int64) error {
		if most = size; size > 10 {
			return spool.ErrFull
		}
		return nil
	}
	order := replay.Order{Options: replay.Options{Path: path}, Progress: func(int64) {}}
	if err := j.replayGrowing(t.Context(), order, grow); !errors.Is(err, spool.ErrFull) || most != 11 {
		t.Errorf("error %v after %d bytes", err, most)
	}
}
