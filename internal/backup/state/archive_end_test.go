package state_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestASnapshotNamesTheRecoveryUnlessOneIsUnderWay(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	for step, want := range map[v1beta2.RecoveryStep]string{v1beta2.RecoveryForcing: "", v1beta2.RecoveryGrowing: "m " + statetest.T0.UTC().Format(time.RFC3339)} {
		at := metav1.NewTime(statetest.T0)
		s.Cluster = state.ClusterOf(&v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{Recovery: &v1beta2.ClusterRecoveryStatus{Step: step, Member: "m", StartedAt: &at}}})
		if got := state.JobSpecOf(s).Recovery; got != want {
			t.Errorf("in step %s, a snapshot has the recovery %q, want %q", step, got, want)
		}
	}
}

// A restore removes the recovery from the status of the cluster. If it fails, the cluster still has the recovered history. If backup-operator
// did not run in between, it would continue the history that was lost.
func TestARecoveryIsKnownAfterARestoreHasFailed(t *testing.T) {
	at := metav1.NewTime(statetest.T0)
	found := &v1beta2.EtcdCluster{}
	found.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &at}
	before := state.ClusterOf(found)
	found.Status.Recovery, found.Status.LastRecovery = nil, &v1beta2.PastRecovery{Member: "m", StartedAt: at}
	if after := state.ClusterOf(found); before.Recovery == "" || after.Recovery != before.Recovery || after.Recovering {
		t.Errorf("the recovery is %q before the restore, and %q after it", before.Recovery, after.Recovery)
	}
}

// A second recovery is cancelled after its survivor ran alone, and the status of the cluster has the first one again. The cluster may have the
// history of the second survivor: its archiver would continue the timeline of the first one.
func TestARecoveryThatWasCancelledTooLateIsTheLastOne(t *testing.T) {
	first, second := metav1.NewTime(statetest.T0), metav1.NewTime(statetest.T0.Add(time.Hour))
	cluster := &v1beta2.EtcdCluster{}
	cluster.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &first}
	cluster.Status.LastRecovery = &v1beta2.PastRecovery{Member: "m", StartedAt: first}
	before := state.ClusterOf(cluster)
	cluster.Status.LastRecovery = &v1beta2.PastRecovery{Member: "n", StartedAt: second}
	if after := state.ClusterOf(cluster); after.Recovery == before.Recovery || after.Recovering {
		t.Errorf("after the cancelled recovery, the last one is %q", after.Recovery)
	}
	third := metav1.NewTime(statetest.T0.Add(-time.Hour)) // by a clock that is behind
	cluster.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "o", StartedAt: &third}
	if now := state.ClusterOf(cluster); !now.Recovering || now.Recovery != state.RecoveryID("o", third) {
		t.Errorf("while the third recovery is under way, the last one is %q", now.Recovery)
	}
}
