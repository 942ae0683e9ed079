package status

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestTheEndOfALostClustersArchiveIsReportedAtOnce(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Archive.Shown = s.Archive.Ranges[0].To
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Archive.Ranges = []archive.Range{statetest.RangeTo(s, 27, 20*time.Second)}
	if got := NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil).Recoverable[0].To.Revision; got != 20 {
		t.Errorf("while the archiver runs, the status shows revision %d, want 20 as the archiver decided", got)
	}
	s.Archive.Begun, s.Archive.Failures, s.Archive.Failure = false, 1, &state.Failure{Reason: v1beta2.ReasonRetrying, Message: "no member answers"}
	if got := NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil).Recoverable[0].To.Revision; got != 27 {
		t.Errorf("when the cluster is lost, the status shows revision %d, want 27", got)
	}
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	out := NewStatus(s, plan.Wait{Reason: v1beta2.ReasonClusterNotFound}, nil)
	if got := out.Recoverable[0].To.Revision; got != 27 || state.ConditionOf(out.Conditions, v1beta2.ConditionArchiving).Reason != v1beta2.ReasonClusterNotAvailable {
		t.Errorf("when the EtcdCluster is deleted, the status shows revision %d, want 27: %+v", got, out.Conditions)
	}
}
