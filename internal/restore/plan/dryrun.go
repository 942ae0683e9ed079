package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Proved ends a dry run whose snapshot is verified. The status gets the snapshot and no source: without a source no version
// of cluster-operator begins a restore.
type Proved struct {
	ChosenBecause string
	Snapshot      v1beta2.Snapshot
	Point         *v1beta2.PointInTimeStatus
	Keys          *v1beta2.PrefixesStatus
}

func (p Proved) describe(s State) planning.Description {
	name := s.Restore.Spec.EtcdCluster.Name
	message := fmt.Sprintf("Snapshot %s can be restored: revision %d, %d keys, %d bytes. It fits EtcdCluster %s. This was a dry run, and nothing was changed.",
		p.Snapshot.Path, p.Snapshot.Revision, p.Snapshot.Keys, p.Snapshot.Size, name)
	if s.Cluster == nil {
		message = fmt.Sprintf("Snapshot %s can be restored: revision %d, %d keys, %d bytes. There is no EtcdCluster %s, so its version and its volumes were not checked. This was a dry run, and nothing was changed.",
			p.Snapshot.Path, p.Snapshot.Revision, p.Snapshot.Keys, p.Snapshot.Size, name)
	}
	if p.Keys != nil {
		message = planning.Shorten(fmt.Sprintf("The keys of snapshot %s below %s can be restored into EtcdCluster %s: %s. This was a dry run, and nothing was changed. The first keys: %s.",
			p.Snapshot.Path, s.prefixes(), name, Differences(*p.Keys), strings.Join(p.Keys.First, ", ")), planning.MaxNote)
	}
	return s.announced(corev1.EventTypeNormal, planning.Description{Reason: v1beta2.ReasonDryRun, Message: message})
}

// proved reports a dry run that has ended: nothing is restored, and nothing has failed.
func (r report) proved(step Proved, d planning.Description) {
	r.status.Percent, r.status.Choice, r.status.Reason = 100, step.ChosenBecause, ""
	r.status.Snapshot, r.status.PointInTime = &step.Snapshot, step.Point
	r.comparedKeys(step.Keys, nil)
	r.status.CompletionTime = &r.now
	r.set(v1beta2.ConditionReady, true, d.Reason, d.Message)
	r.verified(d)
	r.set(v1beta2.ConditionRestoring, false, d.Reason, "This is a dry run.")
	r.set(v1beta2.ConditionComplete, false, d.Reason, "This is a dry run. The cluster is not restored.")
	r.notFailed(d.Reason)
}
