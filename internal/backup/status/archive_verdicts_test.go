package status

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A status that was lost reports the failed proof of the store again.
func TestAFailedProofOfTheStoreIsReported(t *testing.T) {
	s := statetest.ArchivingState(t, statetest.Later, func(s *state.State) {
		s.Archive.Proof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: "bucket/p.db", To: s.Status.Snapshot.Path, Message: "Revision 12 is damaged."}
	})
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionReady)
	if c == nil || c.Reason != v1beta2.ReasonArchiveCorrupt || s.Status.LastArchiveProof == nil {
		t.Errorf("Ready is %+v, the last proof %+v", c, s.Status.LastArchiveProof)
	}
	if state.Distrusted(s) == nil || state.ProofWanted(s) {
		t.Error("the proof is repeated before there is another snapshot, or does not count")
	}
}
