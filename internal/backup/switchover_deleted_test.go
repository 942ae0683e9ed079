package backup

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A person deletes an EtcdBackup during a switchover. The operator did not read the EtcdCluster any more, so its archiver ended at once: the cluster refused writes until a person
// disarmed the alarm, and a standby could take over after that.
func TestTheClusterOfADeletedEtcdBackupIsReadDuringASwitchover(t *testing.T) {
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd"}}
	cluster.Status.MemberStatuses = []v1beta2.MemberStatus{{Name: "m0", ClientURL: "http://m0:2379"}}
	b := object(statetest.ArchivingState(t, func(s *state.State) {
		s.Spec.EtcdCluster, s.Spec.EtcdEndpoints = &v1beta2.ClusterReference{Name: "etcd"}, nil
		s.Status.Switchover = &v1beta2.SwitchoverStatus{ID: "id", Phase: v1beta2.SwitchoverReady}
	}))
	b.Finalizers, b.DeletionTimestamp = []string{v1beta2.FinalizerSnapshots}, ptr.To(metav1.NewTime(time.Now()))
	r := newRig(t, b, cluster)
	_, s, err := r.observe(t.Context(), request.NamespacedName)
	if err != nil {
		t.Fatal(err)
	}
	if s.Cluster == nil || !s.Archived() {
		t.Errorf("the cluster is %+v, and the archiver runs: %t", s.Cluster, s.Archived())
	}
}
