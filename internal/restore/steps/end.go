package steps

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

type (
	// Done does nothing more. Requeue is how long it is until the restore is to be deleted, and 0 for never.
	Done struct{ Requeue time.Duration }
	// Expire deletes a finished restore whose time to live is over.
	Expire struct{}
)

func (d Done) Describe(s state.State) planning.Description {
	described := asReported(s)
	described.Requeue = d.Requeue
	return described
}

func (Expire) Describe(s state.State) planning.Description {
	return asReported(s)
}

type (
	// Follow reports the progress of the cluster.
	Follow struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Complete ends the restore: the cluster serves the restored data with all of its members.
	Complete struct{ Cluster v1beta2.ClusterRestoreStatus }
)

func (f Follow) Describe(s state.State) planning.Description {
	message := f.Cluster.Message
	if message == "" {
		message = fmt.Sprintf("EtcdCluster %s is at step %s of the restore.", s.Restore.Spec.EtcdCluster.Name, f.Cluster.Step)
	}
	reason := string(f.Cluster.Step)
	if state.Following(f.Cluster) {
		reason = v1beta2.ReasonFollowing
	}
	return withRead(s, f.Cluster, announced(s, corev1.EventTypeNormal, planning.Description{Reason: reason, Message: message}))
}

func (c Complete) Describe(s state.State) planning.Description {
	return withRead(s, c.Cluster, announced(s, corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonComplete,
		Message: fmt.Sprintf("EtcdCluster %s is restored and has all of its members. Its etcd cluster has the ID %s and revision %d.",
			s.Restore.Spec.EtcdCluster.Name, c.Cluster.ClusterID, c.Cluster.Revision) + state.PromotedSentence(c.Cluster) + state.LeftOutSentence(c.Cluster),
	}))
}

// withRead adds an event that says what the seed has read from a volume, once.
func withRead(s state.State, c v1beta2.ClusterRestoreStatus, d planning.Description) planning.Description {
	if c.Volume == nil || c.Volume.Read == nil || s.Restore.Status.Volume == nil || s.Restore.Status.Volume.Read != nil {
		return d
	}
	kind, reason := corev1.EventTypeNormal, "VolumeRead"
	if c.Volume.Read.LeftOutEntries > 0 {
		kind, reason = corev1.EventTypeWarning, "LogEntriesLeftOut"
	}
	d.Events = append(d.Events, planning.Event{Type: kind, Reason: reason, Action: actionRestore, Note: planning.Shorten(state.ReadSentence(c)+state.LeftOutSentence(c), planning.MaxNote)})
	return d
}

// Inherit marks an EtcdRestore as complete that an earlier operator carried out.
type Inherit struct{}

func (Inherit) Describe(s state.State) planning.Description {
	return announced(s, corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonComplete,
		Message: fmt.Sprintf("Another operator has carried out this EtcdRestore before: status.succeeded is true. EtcdCluster %s was not changed. To restore the snapshot, create an EtcdRestore with another name.",
			s.Restore.Spec.EtcdCluster.Name),
	})
}
