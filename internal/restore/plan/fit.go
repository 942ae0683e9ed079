package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// snapshotIsTooNew checks again what was checked before the snapshot was accepted, because the cluster may have
// appeared or changed its version since then.
func snapshotIsTooNew(s state.State) steps.Step {
	snapshot := s.Restore.Status.Snapshot
	if snapshot == nil { // the seed compares what it finds on a volume
		return nil
	}
	return tooNew(s, snapshot.Path, formatOf(*snapshot))
}

// volumesAreTooSmall does the same for the size of the cluster's volumes.
func volumesAreTooSmall(s state.State) steps.Step {
	if s.Restore.Status.Snapshot == nil {
		return nil
	}
	return tooSmall(s, *s.Restore.Status.Snapshot)
}

// formatOf returns the etcd version of the snapshot's format according to its status, and an empty string if the status
// does not contain it. A snapshot that was just read has it in Proof.Format.
func formatOf(s v1beta2.Snapshot) string {
	if s.StorageVersion == "" && s.EtcdVersion == "" {
		return ""
	}
	return snapshot.Manifest{StorageVersion: s.StorageVersion, EtcdVersion: s.EtcdVersion}.Format()
}

// tooNew returns a Fail if the cluster's etcd cannot read a snapshot of that format. It returns nil if there is no
// cluster yet, or if one of the versions is unknown: cluster-operator reports that.
func tooNew(s state.State, path, format string) steps.Step {
	if s.Cluster == nil {
		return nil
	}
	target := s.Cluster.Spec.EtcdVersion()
	if snapshot.Compatible(format, target) == nil || snapshot.Compatible("", target) != nil {
		return nil
	}
	return steps.Fail{Reason: v1beta2.ReasonSnapshotTooNew, Message: fmt.Sprintf(
		"Snapshot %s has the format of etcd %s. EtcdCluster %s runs etcd %s, which cannot read it. Raise the spec.version of the cluster, then create another EtcdRestore.",
		path, format, s.Cluster.Name, target)}
}

// tooSmall returns a Fail if the snapshot does not fit into the cluster's volumes. The seed needs room for it twice: for
// the downloaded file and for the restored database.
func tooSmall(s state.State, snapshot v1beta2.Snapshot) steps.Step {
	if s.Cluster == nil {
		return nil
	}
	size := max(snapshot.Size, snapshot.PlainSize)
	has, needs := s.Cluster.Spec.MemberStorage(), 2*size
	if has == 0 || has >= needs {
		return nil
	}
	return steps.Fail{Reason: v1beta2.ReasonVolumeTooSmall, Message: fmt.Sprintf(
		"Snapshot %s has %d MiB, and its restore needs a volume of %d MiB. The members of EtcdCluster %s have volumes of %d MiB. Increase the volume size in the spec.pod of the cluster, then create another EtcdRestore.",
		snapshot.Path, size>>20, (needs>>20)+1, s.Cluster.Name, has>>20)}
}
