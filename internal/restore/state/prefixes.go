package state

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Prefixes returns the prefixes of the spec for a message.
func (s State) Prefixes() string {
	var quoted []string
	for _, prefix := range s.Restore.Spec.Prefixes {
		quoted = append(quoted, fmt.Sprintf("%q", prefix))
	}
	return planning.Shorten(strings.Join(quoted, ", "), maxPrefixes)
}

const maxPrefixes = 200

// CompareOrderOf returns which keys to compare with the snapshot that is read; nil if the whole cluster is restored.
func CompareOrderOf(s State) *KeysOrder {
	if !s.OfPrefixes() || s.Cluster == nil {
		return nil
	}
	return &KeysOrder{
		Prefixes: s.Restore.Spec.Prefixes, Prune: s.Restore.Spec.Prune,
		Cluster: OwnMembers(s, s.Cluster.Status.ClusterID),
	}
}

// OwnMembers returns how to reach the members for writes, see etcd.OwnURL.
func OwnMembers(s State, id string) SafetyOrder {
	o := members(s, id)
	if s.AnyMember {
		return o
	}
	var own []string
	for _, text := range o.URLs {
		if found, is := etcd.OwnURL(text, s.Cluster.Namespace, s.Cluster.Name); is {
			own = append(own, found)
		}
	}
	o.URLs = own
	return o
}

// WriteOrderOf returns which keys to write, after the comparison.
func WriteOrderOf(s State) *KeysOrder {
	o, compared := CompareOrderOf(s), s.Restore.Status.Prefixes
	o.Write, o.Revision, o.Snapshot = true, compared.Revision, *s.Restore.Status.Snapshot
	o.Cluster = OwnMembers(s, compared.ClusterID)
	return o
}

// members returns how to reach the members of the cluster with that ID.
func members(s State, id string) SafetyOrder {
	o := SafetyOrder{
		AuthSecret: s.Cluster.Status.OperatorAuthSecret, TLSSecret: cmp.Or(s.Cluster.Status.OperatorTLSSecret, s.Cluster.Status.ClientTLSSecret),
		Namespace: s.Cluster.Namespace, Cluster: s.Cluster.Name, UID: string(s.Cluster.UID), ClusterID: id,
	}
	for _, m := range s.Cluster.Status.MemberStatuses {
		if m.ClientURL != "" {
			o.URLs = append(o.URLs, m.ClientURL)
		}
	}
	return o
}

// WaitedFor reports whether that long has passed since the comparison, or the comparison is ahead of now: the clock of this operator was wrong.
func (s State) WaitedFor(asked metav1.Time, limit time.Duration) bool {
	return clock.Due(asked.Add(limit), limit, s.Now)
}

// restoringKeys is the step of a restore of prefixes in the messages.
const restoringKeys = v1beta2.RestoreStep(v1beta2.ReasonRestoringKeys)

func (s State) KeysMessage() string {
	return fmt.Sprintf("The operator writes keys below %s into EtcdCluster %s.", s.Prefixes(), s.Restore.Spec.EtcdCluster.Name)
}

// KeysProgress is what cluster-operator would report about a restore of prefixes, so that the present data is saved like that of any other restore.
func (s State) KeysProgress() *v1beta2.ClusterRestoreStatus {
	compared := s.Restore.Status.Prefixes
	if compared == nil || !s.Proven() {
		return nil
	}
	return &v1beta2.ClusterRestoreStatus{
		UID: s.Restore.UID, Name: s.Restore.Name, Step: restoringKeys, Message: s.KeysMessage(),
		SeedReadyTime: &compared.Time, ClusterID: compared.ClusterID, ClusterIDBefore: compared.ClusterID,
	}
}

// Proven returns whether the snapshot was verified. The status keeps this fact, because cluster-operator may have
// acted on it.
func (s State) Proven() bool {
	if s.OfPrefixes() {
		return s.Restore.Status.Snapshot != nil && s.Restore.Status.Prefixes != nil && s.Restore.Status.Prefixes.Source != nil
	}
	return s.Restore.Status.Filled()
}

// OfPrefixes returns whether only some keys are restored.
func (s State) OfPrefixes() bool { return len(s.Restore.Spec.Prefixes) > 0 }
