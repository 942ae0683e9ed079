package state

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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
	// Volume that the spec names, until the status has it. It is nil if the spec names none.
	Volume *Volume
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

// Finished returns whether the restore has ended. The operator does nothing more for it but delete it.
func (s State) Finished() bool { return s.Restore.Status.CompletionTime != nil }
