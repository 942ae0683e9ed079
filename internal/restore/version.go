package restore

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// formatOf is the etcd version of a snapshot's format as far as its status says, and empty where it does not. What
// was just read says more: see Proof.Format.
func formatOf(s v1beta2.Snapshot) string {
	if s.StorageVersion == "" && s.EtcdVersion == "" {
		return ""
	}
	return snapshot.Manifest{StorageVersion: s.StorageVersion, EtcdVersion: s.EtcdVersion}.Format()
}

// tooNew says why the cluster's etcd could not read a snapshot of that format, nil where it can, where there is no
// cluster yet, or where a version is not understood, which is not for this operator to say.
func (s State) tooNew(path, format string) Step {
	if s.Cluster == nil {
		return nil
	}
	target := s.Cluster.Spec.EtcdVersion()
	if snapshot.Compatible(format, target) == nil || snapshot.Compatible("", target) != nil {
		return nil
	}
	return Fail{Reason: v1beta2.ReasonSnapshotTooNew, Message: fmt.Sprintf(
		"snapshot %s has the format of etcd %s, which etcd %s of EtcdCluster %s cannot read: raise the spec.version of the cluster, then make another EtcdRestore",
		path, format, target, s.Cluster.Name)}
}
