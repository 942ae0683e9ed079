package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestAFailedProofIsReportedUntilOnePasses(t *testing.T) {
	s := statetest.ArchivingState(t, statetest.Later)
	ended := func(result v1beta2.ProofResult) {
		s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: s.Generation, Number: 1, Result: &state.Result{
			EndedAt: s.Now, Drill: &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: s.Now}},
			Proof: &v1beta2.ArchiveProof{Result: result, To: s.Status.Snapshot.Path, From: statetest.EarlierOf(s), Revision: 15, Message: "Revision 12 is damaged.", Time: metav1.Time{Time: s.Now}},
		}}
		events := plan.Describe(plan.Report{}, s).Events
		if want := map[v1beta2.ProofResult]string{v1beta2.ProofFailed: "ArchiveDisproven", v1beta2.ProofPassed: "ArchiveProven"}[result]; events[len(events)-1].Reason != want {
			t.Errorf("events %+v, want %s", events, want)
		}
		s.Status = NewStatus(s, plan.Report{}, nil)
		s.Attempt = nil
	}
	ended(v1beta2.ProofFailed)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionReady)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonArchiveCorrupt || !strings.Contains(c.Message, "Revision 12 is damaged") {
		t.Errorf("Ready is %+v", c)
	}
	ended(v1beta2.ProofPassed)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if c = state.ConditionOf(s.Status.Conditions, v1beta2.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v after a proof has passed", c)
	}
}
