package backup

import (
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// cluster-operator reports the name of the Secret with etcd's user as soon as the spec has it, even while authentication is off.
func TestAMissingUserOfAnEtcdClusterStopsNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd"}}
		cluster.Status.OperatorAuthSecret, cluster.Status.ClusterID = "login", "0000000000000001"
		cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue}}
		cluster.Status.MemberStatuses = []v1beta2.MemberStatus{{ClientURL: "http://a:2379"}}
		b := object(statetest.One(statetest.Of(nil)))
		b.Status = v1beta2.EtcdBackupStatus{}
		r := newRig(t, b, cluster)
		r.pass()
		r.pass()
		if ready := meta.FindStatusCondition(r.backup().Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Reason == v1beta2.ReasonSecretMissing {
			t.Errorf("no attempt was started: %s", ready.Message)
		}
	})
}
