package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// State is everything that a decision may depend on. It is plain data and prints as JSON.
type State struct {
	// Now is when the State was observed. If the operator's clock differs from that of the API server (ClocksDiffer), it is the time of the
	// API server.
	Now          time.Time
	ClocksDiffer bool
	// Restore as Kubernetes stores it.
	Restore v1beta2.EtcdRestore
	// Backup that the spec names. It is nil if it does not exist or the spec names none.
	Backup *v1beta2.EtcdBackup
	// Recipients are the age recipients of the EtcdBackups of the cluster that encrypt their snapshots.
	Recipients []string
	// Backups are the EtcdBackups of the cluster, while it is being restored.
	Backups []v1beta2.EtcdBackup
	// Ahead is the name of the EtcdRestore of the same cluster that comes before this one. It is empty if this one is
	// next.
	Ahead string
	// Cluster to restore. It is nil if it does not exist.
	Cluster *v1beta2.EtcdCluster
	// Proof of the source, as far as it is known. Full is true if a reading would wait for others.
	Proof Proof
	Full  bool
	// Revoked is true if the status has a signed URL, and the values of the chart do not allow the namespace any more to read the snapshot with
	// the operator's own identity.
	Revoked bool
	// Renewal is the attempt to replace the signed URL, as far as it is known.
	Renewal Renewal
	// Safety is the attempt to save the old cluster, as far as it is known.
	Safety Safety
	// AnyMember permits to write to members whose host is not below the Service of the cluster. Only tests set it.
	AnyMember bool
	// Writing is the attempt to write keys below prefixes, as far as it is known.
	Writing Writing
}

// Progress is the state of the reading of a source.
type Progress string

// Progresses. After a restart of the operator it is ProofNone too, and the source is read again.
const (
	ProofNone    Progress = ""
	ProofQueued  Progress = "Queued"
	ProofRunning Progress = "Running"
	ProofFailed  Progress = "Failed"
	ProofDone    Progress = "Done"
)

// Proof is the result of reading a source once and completely.
type Proof struct {
	Progress Progress
	// Percent of the bytes that have been read, while Progress is ProofRunning.
	Percent int32
	// Waits is for what the reading waits, and why. It is empty if it does not wait.
	Waits string
	// Asked and Choice are those of the Verify that started the reading.
	Asked  v1beta2.RestoreSource
	Choice source.Choice
	// Source that was read. ChosenBecause explains why it was chosen, and is empty if the spec names it.
	Source        v1beta2.RestoreSource
	ChosenBecause string
	// Snapshot that Source contains.
	Snapshot v1beta2.Snapshot
	// Point is what Snapshot was made of. It is nil for a snapshot of a cluster.
	Point *v1beta2.PointInTimeStatus
	// Base is the snapshot that the replay of a point began with, as it was read. It is empty for a snapshot of a cluster.
	Base v1beta2.Snapshot
	// Keys is the comparison of the keys below prefixes. It is nil if the whole cluster is restored.
	Keys *v1beta2.PrefixesStatus
	// Format is the etcd version of the Snapshot's format. Its minor version decides which etcd can read it.
	Format string
	// SignedURL is how the seed reads Source. It is nil if the seed opens the store with the same Secret.
	SignedURL *v1beta2.SignedURLStatus
	// Reason (a constant of the API) and Message describe the failure if Progress is ProofFailed.
	Reason, Message string
	// Final is true if another attempt would fail the same way.
	Final bool
	// Ended is when the reading failed.
	Ended time.Time
}

// Finished returns whether the restore has ended. The operator does nothing more for it but delete it.
func (s State) Finished() bool { return s.Restore.Status.CompletionTime != nil }

// Proven returns whether the snapshot was verified. The status keeps this fact, because cluster-operator may have
// acted on it.
func (s State) Proven() bool {
	if s.ofPrefixes() {
		return s.Restore.Status.Snapshot != nil && s.Restore.Status.Prefixes != nil && s.Restore.Status.Prefixes.Source != nil
	}
	return s.Restore.Status.Snapshot != nil && s.Restore.Status.Source != nil
}

// progress returns what the cluster reports about this restore, and nil if it has not started it.
func (s State) progress() *v1beta2.ClusterRestoreStatus {
	if s.ofPrefixes() {
		return s.keysProgress()
	}
	if s.Cluster == nil || s.Cluster.Status.Restore == nil || s.Cluster.Status.Restore.UID != s.Restore.UID {
		return nil
	}
	return s.Cluster.Status.Restore
}
