package backup

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// A proof failed while the clock of the operator was three hours ahead. The clock is right again, and there is another snapshot. If the time in the
// future counted, the operator would repeat the restore test without a pause, and the user would pay for each reading of the store.
func TestAFailedProofByAClockThatWasAheadIsNotRepeatedAtOnce(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.attempt(s).Snapshot
	o := jobSpecOf(s)
	key := first.Path[len(o.Target.Bucket)+1:]
	now := s.Now
	write := func(to int64, at time.Time) {
		proofs, err := archive.Proofs(t.Context(), w.store, o.archiveRoot())
		if err != nil {
			t.Fatal(err)
		}
		if err := archive.WriteProof(t.Context(), w.store, o.archiveRoot(), archive.Proof{
			ProofName: archive.ProofName{Timeline: 1, From: 1, To: to, Failed: true}, FromKey: key, ToKey: "s" + stamp(at), Time: at, Message: "Revision 2 is damaged."}, proofs); err != nil {
			t.Fatal(err)
		}
	}
	write(2, now.Add(3*time.Hour))
	survey := func() *v1beta2.ArchiveProof {
		proofs, err := archive.Proofs(t.Context(), w.store, o.archiveRoot())
		if err != nil {
			t.Fatal(err)
		}
		last, err := lastProof(t.Context(), w.store, o, proofs)
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	s = archivingState(t, func(s *State) {
		s.Status.Snapshot.Revision = 15
		s.Archive.Ranges = []archive.Range{{Timeline: 1, From: archive.Point{Revision: 10, At: now.Add(-time.Hour)}, To: archive.Point{Revision: 20, At: now}}}
	})
	began, drills := s.Now, 0
	for range 200 {
		s.Archive.Proof = survey() // each result makes the keeper survey the archive again
		s.Archive.Ranges[0].To.At = s.Now
		step, _ := Plan(s)
		drill, is := step.(Drill)
		if !is {
			t.Logf("%T", step)
			s.Status = NewStatus(s, step, nil)
			s.Now = s.Now.Add(time.Second)
			continue
		}
		drills++
		s.Status = NewStatus(s, step, nil)
		s.Now = s.Now.Add(time.Second)
		write(15, s.Now)
		s.Attempt = &Attempt{Kind: KindDrill, Number: drill.Number, Generation: s.Generation, StartedAt: s.Now, Result: &Result{EndedAt: s.Now,
			Drill: &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: s.Now}},
			Proof: &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: first.Path, To: s.Status.Snapshot.Path, Revision: 15, Time: metav1.Time{Time: s.Now}, Message: "Revision 2 is damaged."},
		}}
		step, _ = Plan(s)
		if _, is := step.(Report); !is {
			t.Fatalf("%T", step)
		}
		s.Status, s.Attempt = NewStatus(s, step, nil), nil
	}
	if drills > 3 {
		t.Errorf("%d restore tests with proofs in %s", drills, s.Now.Sub(began))
	}
}

// A proof failed in the bucket that the spec named before. The user has named another bucket since then, and the cluster is idle, so no proof follows.
// If that proof counted, the new bucket would grow without a limit, and Ready would stay false.
func TestAFailedProofOfAFormerLocationHoldsNothingInTheNewOne(t *testing.T) {
	w := newWorld(t)
	w.store = storedThen{w.store}
	s := series(func(s *State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	present := time.Now()
	s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: "former-bucket/dir/ns/b/0000000000000abc/p.db", To: "former-bucket/dir/ns/b/0000000000000abc/q.db",
		Revision: 9, Time: metav1.Time{Time: present.Add(-48 * time.Hour)}, Message: "Revision 2 is damaged."}
	_ = holdsNothing(t, w, s, present)
}

// holdsNothing saves the cluster once an hour, four times, and fails the test if the series is then held by a failed proof. It returns the State.
func holdsNothing(t *testing.T, w *world, s State, present time.Time) State {
	t.Helper()
	for hour := range 4 {
		w.now = at(present.Add(time.Duration(hour-10) * time.Hour))
		r := w.attempt(s)
		s.Attempt = &Attempt{Generation: s.Generation, Number: 1, StartedAt: w.now(), Result: &r}
		s.Now = w.now()
		newest := archive.Point{Revision: r.Snapshot.Revision, At: s.Now}
		s.Archive = &Archive{Begun: true, Surveyed: true, Covered: true, Ranges: []archive.Range{{Timeline: 1, From: newest, To: newest}}}
		step, _ := Plan(s)
		s.Status, s.Attempt = NewStatus(s, step, nil), nil
		c := conditionOf(s.Status.Conditions, v1beta2.ConditionReady)
		t.Logf("%T: Ready %s %s: %.150s; pruned %d: %.120s; proof wanted %v", step, c.Status, c.Reason, c.Message, r.Pruned, r.PruneProblem, s.proofWanted())
		if hour == 3 && (c.Reason == v1beta2.ReasonArchiveCorrupt || r.Pruned == 0) {
			t.Errorf("in %s: %d pruned, %s", s.Target.Path(), r.Pruned, c.Message)
		}
	}
	return s
}
