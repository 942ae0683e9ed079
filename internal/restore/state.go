package restore

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// State is all that a decision may look at. It is plain data: it prints as JSON, and Plan of the same State is
// the same Step.
type State struct {
	// Now is when the State was read.
	Now time.Time
	// Restore as Kubernetes holds it.
	Restore v1beta2.EtcdRestore
	// Backup that the spec names, nil where there is none of that name or the spec names none.
	Backup *v1beta2.EtcdBackup
	// Ahead names the EtcdRestore of the same cluster that comes before this one; empty when it is this one's turn.
	Ahead string
	// Cluster to restore, nil where there is none of that name.
	Cluster *v1beta2.EtcdCluster
	// Proof of the source, as far as it is.
	Proof Proof
}

// Progress is how far the reading of a source is.
type Progress string

// Progresses. None after a restart of the operator, too: the source is read again then.
const (
	ProofNone    Progress = ""
	ProofRunning Progress = "Running"
	ProofFailed  Progress = "Failed"
	ProofDone    Progress = "Done"
)

// Proof is what came of reading a source once, whole.
type Proof struct {
	Progress Progress
	// Percent of the bytes that have come while Running.
	Percent int32
	// Asked is what was to be read: Source and Choice of the Verify that began it.
	Asked  v1beta2.RestoreSource
	Choice source.Choice
	// Source that was read, Why it was chosen where it had to be, and Snapshot that is in it when Done.
	Source   v1beta2.RestoreSource
	Why      string
	Snapshot v1beta2.Snapshot
	// Format is the etcd version whose minor says which etcd can read the Snapshot.
	Format string
	// Reason (one of the API's) and Message say what is wrong when Failed.
	Reason, Message string
	// Final: the same source read again would fail the same way.
	Final bool
	// Ended is when it failed.
	Ended time.Time
}

// finished restores are never acted on again.
func (s State) finished() bool { return s.Restore.Status.CompletionTime != nil }

// proven says whether the source has been read and found good. It is a fact that is kept in the status, because
// cluster-operator may have acted on it.
func (s State) proven() bool {
	return s.Restore.Status.Snapshot != nil && s.Restore.Status.Source != nil
}

// progress is what the cluster reports of this very restore, nil where it has not taken it up.
func (s State) progress() *v1beta2.ClusterRestoreStatus {
	if s.Cluster == nil || s.Cluster.Status.Restore == nil || s.Cluster.Status.Restore.UID != s.Restore.UID {
		return nil
	}
	return s.Cluster.Status.Restore
}
