package attempt_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
)

// A proof failed while the clock of the operator was three hours ahead. The clock is right again, and there is another snapshot. If the time in the
// future counted, the operator would repeat the restore test without a pause, and the user would pay for each reading of the store.
func TestAFailedProofByAClockThatWasAheadIsNotRepeatedAtOnce(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.Attempt(s).Snapshot
	o := state.JobSpecOf(s)
	key := first.Path[len(o.Target.Bucket)+1:]
	now := s.Now
	write := func(to int64, at time.Time) {
		allProofs, err := proofs.List(t.Context(), w.Store, o.ArchiveRoot())
		if err != nil {
			t.Fatal(err)
		}
		if err := proofs.Write(t.Context(), w.Store, o.ArchiveRoot(), archive.Proof{
			ProofName: archive.ProofName{Timeline: 1, From: 1, To: to, Failed: true}, FromKey: key, ToKey: "s" + state.Stamp(at), Time: at, Message: "Revision 2 is damaged."}, allProofs); err != nil {
			t.Fatal(err)
		}
	}
	write(2, now.Add(3*time.Hour))
	survey := func() *v1beta2.ArchiveProof {
		proofs, err := proofs.List(t.Context(), w.Store, o.ArchiveRoot())
		if err != nil {
			t.Fatal(err)
		}
		last, err := verify.LastProof(t.Context(), w.Store, o, proofs)
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	s = statetest.ArchivingState(t, func(s *state.State) {
		s.Status.Snapshot.Revision = 15
		s.Archive.Ranges = []archive.Range{{Timeline: 1, From: archive.Point{Revision: 10, At: now.Add(-time.Hour)}, To: archive.Point{Revision: 20, At: now}}}
	})
	began, drills := s.Now, 0
	for range 200 {
		s.Archive.Proof = survey() // each result makes the keeper survey the archive again
		s.Archive.Ranges[0].To.At = s.Now
		step, _ := plan.Plan(s)
		drill, is := step.(plan.Drill)
		if !is {
			t.Logf("%T", step)
			s.Status = status.NewStatus(s, step, nil)
			s.Now = s.Now.Add(time.Second)
			continue
		}
		drills++
		s.Status = status.NewStatus(s, step, nil)
		s.Now = s.Now.Add(time.Second)
		write(15, s.Now)
		s.Attempt = &state.Attempt{Kind: state.KindDrill, Number: drill.Number, Generation: s.Generation, StartedAt: s.Now, Result: &state.Result{EndedAt: s.Now,
			Drill: &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: s.Now}},
			Proof: &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: first.Path, To: s.Status.Snapshot.Path, Revision: 15, Time: metav1.Time{Time: s.Now}, Message: "Revision 2 is damaged."},
		}}
		step, _ = plan.Plan(s)
		if _, is := step.(plan.Report); !is {
			t.Fatalf("%T", step)
		}
		s.Status, s.Attempt = status.NewStatus(s, step, nil), nil
	}
	if drills > 3 {
		t.Errorf("%d restore tests with proofs in %s", drills, s.Now.Sub(began))
	}
}

// A proof failed in the bucket that the spec named before. The user has named another bucket since then, and the cluster is idle, so no proof follows.
// If that proof counted, the new bucket would grow without a limit, and Ready would stay false.
func TestAFailedProofOfAFormerLocationHoldsNothingInTheNewOne(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Store = attempttest.StoredThen{Store: w.Store}
	s := statetest.Series(func(s *state.State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	present := time.Now()
	s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: "former-bucket/dir/ns/b/0000000000000abc/p.db", To: "former-bucket/dir/ns/b/0000000000000abc/q.db",
		Revision: 9, Time: metav1.Time{Time: present.Add(-48 * time.Hour)}, Message: "Revision 2 is damaged."}
	_ = attempttest.HoldsNothing(t, w, s, present)
}
