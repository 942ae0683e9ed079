package findings

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// isStandby reports whether a cluster follows another one and has never served. That no client is served is what its owner has asked for.
func isStandby(c v1beta2.EtcdCluster) bool {
	return c.Status.ClusterID == "" && c.Status.Restore != nil && c.Status.Restore.Follow != nil
}

// standbyFindings returns why a standby that has begun is behind. The condition Ready of its EtcdRestore is about the restore as a whole.
func standbyFindings(object string, about Subject, r v1beta2.EtcdRestore) []Finding {
	c := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFollowing)
	f := r.Status.Follow
	if c == nil || c.Status != metav1.ConditionFalse || f == nil || f.Revision == 0 || f.Promoted != nil {
		return nil
	}
	return []Finding{finding(Degraded, object, about, *c)}
}

// switchoverFindings returns what a switchover means for the clients of the source. The condition Ready of an EtcdBackup is about its snapshots.
func switchoverFindings(object string, b v1beta2.EtcdBackup) []Finding {
	on := b.Status.Switchover
	if on == nil {
		return nil
	}
	found := Finding{
		Severity: Progress, Object: object, Reason: v1beta2.ReasonReadOnly, Problem: fmt.Sprintf("The switchover is %s. %s", on.Phase, on.Message),
		Impact:   "Clients can read, and etcd may refuse their writes until a standby has taken over or the switchover is called off.",
		Fix:      "Wait until the standby has taken over. To let the cluster take writes again, call the switchover off: " + moving.CallOff(b),
		Commands: []string{fmt.Sprintf("kubectl -n %s get etcdbackup %s -o jsonpath='{.status.switchover}'", b.Namespace, b.Name)},
	}
	switch on.Phase {
	case v1beta2.SwitchoverPromoted:
		found.Severity = Notice
		found.Impact = "Clients cannot write to this cluster any more. Those that have not moved read old data."
		found.Fix = "Point all clients to the new cluster. Then delete this one, and its EtcdBackup last."
	case v1beta2.SwitchoverCallingOff:
		found.Fix = "Wait. If it takes more than a minute, correct what the message names."
	}
	return []Finding{found}
}
