package state

import (
	"fmt"
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

// Proven returns whether the snapshot was verified. The status keeps this fact, because cluster-operator may have
// acted on it.
func (s State) Proven() bool {
	if s.OfPrefixes() {
		return s.Restore.Status.Snapshot != nil && s.Restore.Status.Prefixes != nil && s.Restore.Status.Prefixes.Source != nil
	}
	return s.Restore.Status.Snapshot != nil && s.Restore.Status.HasSource()
}

// Progress returns what the cluster reports about this restore, and nil if it has not started it.
func (s State) Progress() *v1beta2.ClusterRestoreStatus {
	if s.OfPrefixes() {
		return s.KeysProgress()
	}
	if s.Cluster == nil || s.Cluster.Status.Restore == nil || s.Cluster.Status.Restore.UID != s.Restore.UID {
		return nil
	}
	return s.Cluster.Status.Restore
}

// restoringKeys is the step of a restore of prefixes in the messages.
const restoringKeys = v1beta2.RestoreStep(v1beta2.ReasonRestoringKeys)

func (s State) KeysMessage() string {
	return fmt.Sprintf("The operator writes keys below %s into EtcdCluster %s.", s.Prefixes(), s.Restore.Spec.EtcdCluster.Name)
}

// OfPrefixes returns whether only some keys are restored.
func (s State) OfPrefixes() bool { return len(s.Restore.Spec.Prefixes) > 0 }

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
