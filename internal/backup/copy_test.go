package backup

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// copies asks for a second location.
func copies(s *State) {
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/copies"}}}
	s.CopyTarget, s.CopyProblem = copyTarget(s.Namespace, s.Name, s.Spec, s.Target)
}

// copiedAt: the copy of that snapshot was made that long ago.
func copiedAt(sha, created string, ago time.Duration) change {
	return func(s *State) {
		s.Status.Copies = &v1beta2.BackupCopies{
			ObservedGeneration: 1, LastAttemptTime: &metav1.Time{Time: t0.Add(-ago)},
			Newest: &v1beta2.Snapshot{SHA256: sha, CreatedAt: created},
		}
	}
}

func TestTheNextStepOfACopy(t *testing.T) {
	taken := func(s *State) { proven(time.Minute)(s); ofKnownCluster(s); s.Status.Snapshot.SHA256 = "a" }
	failed := func(n int32, in time.Duration) change {
		return func(s *State) {
			copiedAt("b", "", 2*time.Minute)(s)
			s.Status.Copies.Attempts, s.Status.Copies.NextTime = n, &metav1.Time{Time: t0.Add(in)}
		}
	}
	scheduled := Scheduled{At: t0.Add(59 * time.Minute)}
	tests := map[string]struct {
		state State
		want  Step
	}{
		"copies the first snapshot":                                                {series(taken, copies), Copy{Number: 1}},
		"copies nothing without a snapshot":                                        {series(copies), TakeSnapshot{Number: 1}},
		"copies nothing if the second location has the newest snapshot":            {series(taken, copies, copiedAt("a", stamp(t0.Add(-time.Minute)), time.Second)), scheduled},
		"copies nothing if the last copy did not keep the newest snapshot":         {series(taken, copies, copiedAt("b", "", time.Second)), scheduled},
		"copies a newer snapshot":                                                  {series(taken, copies, copiedAt("b", "", time.Hour)), Copy{Number: 1}},
		"copies again after a change of the spec":                                  {series(taken, copies, copiedAt("a", stamp(t0.Add(-time.Minute)), time.Second), edited), Copy{Number: 1}},
		"waits after a failed copy while the series continues":                     {series(taken, copies, failed(3, time.Minute)), scheduled},
		"repeats a failed copy":                                                    {series(taken, copies, failed(3, 0)), Copy{Number: 4}},
		"takes a snapshot while a copy runs":                                       {series(proven(2*time.Hour), copies, func(s *State) { s.Copy = &Attempt{Kind: KindCopy, Generation: 1, Number: 1} }), TakeSnapshot{Number: 1}},
		"reports a copy while a snapshot is taken":                                 {series(taken, copies, attempt(Attempt{Generation: 1}), func(s *State) { s.Copy = &Attempt{Kind: KindCopy, Generation: 1, Result: &Result{}} }), ReportCopy{}},
		"stops a copy of an old spec":                                              {series(taken, copies, func(s *State) { s.Copy = &Attempt{Kind: KindCopy, Generation: 0} }), CancelCopy{}},
		"continues the series if the second location is invalid":                   {series(taken, copies, func(s *State) { s.CopyProblem = &Failure{"InvalidSpec", "Wrong."} }), scheduled},
		"a copy is stopped if the series is deleted":                               {series(taken, copies, deletes, held, deleted, func(s *State) { s.Copy = &Attempt{Kind: KindCopy, Generation: 1} }), CancelCopy{}},
		"copies the rest of a long series":                                         {series(taken, copies, copiedAt("a", stamp(t0.Add(-time.Minute)), time.Second), func(s *State) { s.Status.Copies.Missing = 5 }), Copy{Number: 1}},
		"releases the series after 10 minutes if the final snapshot is not copied": {series(taken, copies, finally(11*time.Minute), func(s *State) { s.Status.HandledRequest = s.Request }), Release{}},
		"copies the final snapshot":                                                {series(taken, copies, finally(time.Minute), func(s *State) { s.Status.HandledRequest = s.Request }), Copy{Number: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "a copy is stopped if the series is deleted" {
				test.state.DeletedAt = t0
			}
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// A user who reads "Copied" deletes the first bucket.
func TestACopyIsNotCalledCompleteWithoutTheNewestSnapshot(t *testing.T) {
	for name, test := range map[string]struct{ kept, want string }{
		"the newest snapshot was copied":   {"a", "The second location has the newest snapshot."},
		"the newest snapshot was left out": {"b", "The second location does not have the newest snapshot: it is newer than the copy, cannot be read, or is not kept there."},
		"the location is still empty":      {"", "The second location does not have the newest snapshot: it is newer than the copy, cannot be read, or is not kept there."},
	} {
		s := series(proven(time.Minute), ofKnownCluster, copies)
		s.Status.Snapshot.SHA256 = "a"
		s.Copy = &Attempt{Kind: KindCopy, Generation: 1, Result: &Result{}}
		if test.kept != "" {
			s.Copy.Result.Kept = []v1beta2.Snapshot{{SHA256: test.kept, CreatedAt: s.Status.Snapshot.CreatedAt}}
		}
		out := NewStatus(s, ReportCopy{}, nil)
		if c := meta.FindStatusCondition(out.Conditions, v1beta2.ConditionCopied); c == nil || c.Message != test.want {
			t.Errorf("%s: %+v, want the message %q", name, c, test.want)
		}
	}
}

// The alert about a second location that is behind uses this value.
func TestTheStatusSaysHowFarTheSecondLocationIsBehind(t *testing.T) {
	s := series(proven(time.Minute), ofKnownCluster, copies, copiedAt("b", stamp(t0.Add(-61*time.Minute)), time.Hour))
	s.Status.Snapshot.CreatedAt = stamp(t0.Add(-time.Minute))
	if out := NewStatus(s, Scheduled{At: t0.Add(time.Hour)}, nil); out.Copies.LagSeconds != 3600 {
		t.Errorf("%d seconds behind, want 3600", out.Copies.LagSeconds)
	}
}

func TestADeletionReportsTheCopiesThatItLeft(t *testing.T) {
	s := series(copies, deletes, held, deleted, func(s *State) { s.CopyProblem = &Failure{"InvalidSpec", "Write another path."} })
	events := Release{Removed: 3}.describe(s).Events
	if len(events) != 1 || events[0].Reason != "SnapshotsLeft" || !strings.Contains(events[0].Note, "Those of the second location are still there. Write another path.") {
		t.Errorf("events %+v, want a warning that the copies are left", events)
	}
}

func TestTheSecondLocationDiffersFromTheFirst(t *testing.T) {
	s := series(copies)
	s.Spec.CopyTo.S3.Path = "bucket/dir/snap.db"
	if _, problem := copyTarget(s.Namespace, s.Name, s.Spec, s.Target); problem == nil || problem.Reason != v1beta2.ReasonInvalidSpec {
		t.Errorf("problem %+v", problem)
	}
}

// TestASecondLocationThatFailsDelaysNoSnapshot takes three snapshots while the second location is away, and then copies all
// that it keeps.
func TestASecondLocationThatFailsDelaysNoSnapshot(t *testing.T) {
	a := newAfterlife(t, steady(dbfiletest.New(t, memberOfDatabase).Put(10, 200).Snapshot()), keep(2), copies)
	a.away.Store(true)
	for range 3 {
		now := a.clock.now()
		a.live(&life{}, a.taken(now.Add(-time.Second)))
		a.clock.set(a.clock.now().Add(time.Hour))
	}
	a.live(&life{}, func() bool { c := a.backup().Status.Copies; return c != nil && c.Attempts > 1 })
	s := a.backup().Status
	condition := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionCopied)
	if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "away") || !s.Succeeded {
		t.Errorf("condition %+v, succeeded %v", condition, s.Succeeded)
	}
	a.away.Store(false)
	a.live(&life{}, func() bool { return meta.IsStatusConditionTrue(a.backup().Status.Conditions, v1beta2.ConditionCopied) })
	s = a.backup().Status
	if s.Copies.Newest == nil || !strings.HasPrefix(s.Copies.Newest.Path, "other/copies/ns/b/") || s.Copies.Newest.SHA256 != s.Snapshot.SHA256 || s.Copies.LagSeconds != 0 || s.Copies.Attempts != 0 {
		t.Errorf("copies %+v", s.Copies)
	}
	if got := len(keysIn(t, a.other)); got != 4 {
		t.Errorf("the second location has %q", keysIn(t, a.other))
	}
}

func TestAnOperatorKilledDuringACopyCopiesAllSnapshotsLaterAndDeletesBothLocations(t *testing.T) {
	db := steady(dbfiletest.New(t, memberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, keep(1), deletes, copies)
		copied := func() bool { return meta.IsStatusConditionTrue(a.backup().Status.Conditions, v1beta2.ConditionCopied) }
		a.live(l, copied)
		if !copied() {
			a.live(&life{}, copied)
		}
		if got := keysIn(t, a.other); len(got) != 2 {
			t.Errorf("the second location has %q", got)
		}
		if err := a.api.Delete(t.Context(), a.backup()); err != nil {
			t.Fatal(err)
		}
		a.live(&life{}, func() bool { return a.backup() == nil })
		if got := append(a.objects(), keysIn(t, a.other)...); len(got) > 0 {
			t.Errorf("left %q", got)
		}
	})
}

func TestASecondLocationKeepsItsHistoryUnlessTheClocksAgree(t *testing.T) {
	for name, test := range map[string]struct {
		store   func(objstore.Store) objstore.Store
		problem string
	}{
		"the clock is ahead":            {func(s objstore.Store) objstore.Store { return s }, "ahead of the clock of the store"},
		"the clocks cannot be compared": {func(s objstore.Store) objstore.Store { return untimed{s} }, "compare the clock"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := series(copies, func(s *State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
			present, second := time.Now(), s
			second.Target = s.CopyTarget
			for hour := range 3 {
				w.now = at(present.Add(time.Duration(hour-4) * time.Hour))
				s.Status.Snapshot = w.attempt(s).Snapshot
				w.attempt(second)
			}
			before := w.keys()
			w.now, w.store = at(present.Add(240*time.Hour)), test.store(w.store)
			o := jobSpecOf(s)
			o.Kind = KindCopy
			r := w.job.attempt(t.Context(), o, &jobProgress{})
			if r.Failure != nil || r.Pruned != 0 || len(r.Kept) != 3 || !slices.Equal(before, w.keys()) || !strings.Contains(r.PruneProblem, test.problem) {
				t.Errorf("%+v, %q before, left %q", r, before, w.keys())
			}
		})
	}
}

// Only the first location has segments. With the window of the archive, the second one would keep snapshots that nothing needs, and a
// deletion would look for an archive there.
func TestTheSecondLocationHasNoArchive(t *testing.T) {
	o := jobSpecOf(series(copies))
	o.Archived, o.Keep.Window = true, 168*time.Hour
	if second := o.second(); second.Archived || second.Keep.Window != 0 || second.Target.Path() != o.Copy.Path() {
		t.Errorf("archived %t, window %s, target %+v", second.Archived, second.Keep.Window, second.Target)
	}
}

func keysIn(t *testing.T, store objstore.Store) (keys []string) {
	t.Helper()
	for o, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// openSecond opens the second location of an afterlife.
func (a *afterlife) openSecond(_ context.Context, l *life) (objstore.Store, error) {
	if a.away.Load() {
		return nil, fail(v1beta2.ReasonStoreUnreachable, "The second location is away.")
	}
	return mortalStore{a.other, l}, nil
}

func newSecond(t *testing.T) objstore.Store {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}
