package state

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// JobSpecOf returns what an attempt for a State needs.
func JobSpecOf(s State) JobSpec {
	secrets := s.SecretNames()
	o := JobSpec{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, Since: s.CreatedAt,
		Target: s.Target, Timeout: TimeoutOf(s.Spec), Series: s.Series(), Keep: RetentionOf(s.Name, s.Spec),
		Mark: s.Spec.NoQuorum == v1beta2.NoQuorumMark, Verify: s.Spec.Verify == v1beta2.VerifyRestore,
		Encoder: EncoderOf(s.Spec),
		URLs:    s.Spec.EtcdEndpoints, TLSSecret: secrets.TLS, AuthSecret: secrets.Auth, Signing: secrets.Signing, Cluster: SourceName(s.Name, s.Spec),
	}
	o.Keep.Owner = ownerOf(s)
	o.Rhythm, _ = ScheduleOf(s.Spec) // badPolicy has checked it
	if s.Series() {
		o.Jitter = s.ScheduleJitter()
	}
	if s.Spec.CopyTo != nil && s.CopyProblem == nil {
		o.Copy = &s.CopyTarget
		o.CopyHasArchive = s.Status.Copies != nil && len(s.Status.Copies.Recoverable) > 0
	}
	if p := s.Spec.BackupPolicy; p != nil {
		o.BytesPerSecond = p.MaxBytesPerSecond
	}
	switch {
	case s.Requested():
		o.Request = s.Request
	case s.BaseWanted():
		o.Base = s.Archive.Want
		o.Request = "continuous archive: " + o.Base
	}
	o.Archived = everArchived(s)
	o.Prove, o.Distrusted = ProofWanted(s), Distrusted(s)
	if o.Prove {
		o.Ranges = s.Archive.Ranges
	}
	if newest := s.Recorded(); newest != nil {
		o.Newest = *newest
	}
	if d := s.Status.LastDrill; d != nil && s.Here(d.Path) && d.Result == v1beta2.DrillPassed {
		o.Proven = d.Path
	} else if d != nil && s.Here(d.Path) {
		o.Doubted = d.Result == v1beta2.DrillFailed
	}
	if s.Spec.EtcdCluster != nil && s.Cluster != nil {
		o.URLs, o.ClusterID, o.ClusterUID, o.MayLackUser = s.Cluster.ClientURLs, s.Cluster.ID, s.Cluster.UID, true
		if !s.Cluster.Recovering { // else the snapshot may be of the old history
			o.Recovery = s.Cluster.Recovery
		}
	}
	return o
}

// ownerOf returns whose snapshots the EtcdBackup deals with.
func ownerOf(s State) snapshot.Owner {
	owner := snapshot.Owner{
		Namespace: s.Namespace, Cluster: SourceName(s.Name, s.Spec), Backup: s.Name, BackupUID: string(s.UID), BackupSince: s.CreatedAt,
	}
	if s.Spec.EtcdCluster != nil && s.Cluster != nil {
		owner.ClusterUID, owner.ClusterSince = string(s.Cluster.UID), s.Cluster.CreatedAt
	}
	return owner
}
