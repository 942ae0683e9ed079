package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A user repaired a damaged segment, and the operator carried out two proofs within one second: up to the end of the failed one, and then up to the
// newest snapshot. The operator had read the first one from the store, with fractions of a second, and the status has whole seconds. So the first one
// counted as the later one. The operator forgot that the second one had passed, repeated the restore test, and reported Skipped, because there was
// nothing left to prove.
func TestTheLaterOfTwoProofsWithinASecondCounts(t *testing.T) {
	for name, first := range map[string]time.Duration{
		"a fraction of a second before": 300 * time.Millisecond,
		"a second before":               -500 * time.Millisecond,
	} {
		second := statetest.T0.Add(800 * time.Millisecond)
		s := statetest.ArchivingState(t, statetest.Later)
		s.Now = second.Add(20 * time.Millisecond)
		s.Archive.Proof = &v1beta2.ArchiveProof{Result: v1beta2.ProofPassed, From: statetest.EarlierOf(s), To: "before", Revision: 12, Time: metav1.Time{Time: statetest.T0.Add(first)}}
		s.Status.LastArchiveProof = s.Archive.Proof.DeepCopy()
		s.Status.LastArchiveProof.Time = *state.Second(s.Archive.Proof.Time.Time)
		s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: s.Generation, Number: 1, Result: &state.Result{
			EndedAt: s.Now, Drill: &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: second}},
			Proof: &v1beta2.ArchiveProof{Result: v1beta2.ProofPassed, From: statetest.EarlierOf(s), To: s.Status.Snapshot.Path, Revision: 15, Time: metav1.Time{Time: second}},
		}}
		s.Status, s.Attempt = NewStatus(s, plan.Report{}, nil), nil
		if p := s.Status.LastArchiveProof; p == nil || p.To != s.Status.Snapshot.Path {
			t.Errorf("the first proof ended %s: the status has %+v, want the proof up to the newest snapshot", name, p)
		}
		if step, rule := plan.Plan(s); step == (plan.Drill{Number: 1, Path: s.Status.Snapshot.Path}) {
			t.Errorf("the first proof ended %s: %s repeats a proof that has passed", name, rule)
		}
	}
}
