package state

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Cluster is the part of an EtcdCluster that decisions depend on.
type Cluster struct {
	Name string
	UID  types.UID
	// CreatedAt is when the EtcdCluster was created.
	CreatedAt time.Time
	// ID of the etcd cluster, 16 hex digits. It is empty until the cluster has formed.
	ID string
	// Available is true if a quorum of members serves clients. Message is why not.
	Available bool
	Message   string
	// Hibernated is true if spec.hibernate has stopped all members.
	Hibernated bool
	// LastRevision is the last one of the cluster while spec.readOnly refuses all writes, and 0 at other times.
	LastRevision int64
	// Recovering is true until the survivor of a lost quorum serves alone. The old members may still return until then, and keep their history.
	Recovering bool
	// Recovery identifies the last recovery from a lost quorum, which keeps the ID. It is empty if there was none.
	Recovery string
	// TLSSecret and AuthSecret are the Secrets with the certificate and with the user of the operators. They are empty
	// without TLS and without a user.
	TLSSecret, AuthSecret string
	// ClientURLs of the members. The attempt asks each member whether it is a healthy voter.
	ClientURLs []string
}

// ClusterOf returns what a decision may depend on from an EtcdCluster.
func ClusterOf(c *v1beta2.EtcdCluster) *Cluster {
	out := &Cluster{
		Name: c.Name, UID: c.UID, CreatedAt: c.CreationTimestamp.Time, ID: c.Status.ClusterID, AuthSecret: c.Status.OperatorAuthSecret,
		// An older cluster-operator reports only one Secret, for clients and operators.
		TLSSecret:    cmp.Or(c.Status.OperatorTLSSecret, c.Status.ClientTLSSecret),
		LastRevision: c.Status.LastRevision,
		Available:    meta.IsStatusConditionTrue(c.Status.Conditions, v1beta2.ConditionAvailable),
	}
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionAvailable); condition == nil {
		out.Message = "cluster-operator has not reported its state yet. If this takes more than a minute, check that cluster-operator is running."
	} else if !out.Available {
		out.Message, out.Hibernated = condition.Message, condition.Reason == v1beta2.ReasonHibernated
	}
	if r := c.Status.LastRecovery; r != nil {
		out.Recovery = recoveryID(r.Member, r.StartedAt)
	}
	if r := c.Status.Recovery; r != nil && r.StartedAt != nil {
		out.Recovering = r.Step == v1beta2.RecoveryForcing
		// If a recovery is cancelled after its survivor may have run alone, the status has the one before it again.
		if last := c.Status.LastRecovery; out.Recovering || last == nil || !r.StartedAt.Before(&last.StartedAt) {
			out.Recovery = recoveryID(r.Member, *r.StartedAt)
		}
	}
	for _, m := range c.Status.MemberStatuses {
		if m.ClientURL != "" {
			out.ClientURLs = append(out.ClientURLs, m.ClientURL)
		}
	}
	return out
}

func recoveryID(member string, started metav1.Time) string {
	return member + " " + started.UTC().Format(time.RFC3339)
}
