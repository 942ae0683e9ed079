package backup

import (
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// jobSpec is everything that an attempt needs: plain data, taken from a State when it starts.
type jobSpec struct {
	Namespace, Name string
	UID             types.UID
	// Since is when the EtcdBackup was created.
	Since  time.Time
	Target storage.Location
	// Copy is the second location, and nil without one.
	Copy *storage.Location
	// Encoder makes the objects.
	Encoder codec.Encoder
	// Signing is the name of the Secret with the key that signs them. It is empty if they are not signed.
	Signing string
	Timeout time.Duration
	// BytesPerSecond limits what is read from etcd. 0 means no limit.
	BytesPerSecond int64

	// URLs of the members, and the Secrets with the client certificate and with the user. TLSSecret is empty without TLS,
	// and AuthSecret without a user.
	URLs                  []string
	TLSSecret, AuthSecret string
	// MayLackUser is true if an EtcdCluster names AuthSecret. It may do so while authentication is off, so a missing Secret
	// stops no backup. The AuthSecret of an EtcdBackup must exist.
	MayLackUser bool
	// ClusterID that the members must have. It is empty if it is unknown.
	ClusterID string
	// Cluster names the source in manifests and in the keys of a series.
	Cluster    string
	ClusterUID types.UID
	// Recovery is the last one of the cluster from a lost quorum.
	Recovery string

	// Series is true if the snapshot is one of a series. Rhythm is the schedule. Request is not empty if a user asked for
	// the snapshot. Keep decides which older snapshots are kept.
	Series  bool
	Rhythm  schedule.Schedule
	Jitter  time.Duration
	Request string
	Keep    snapshot.Policy
	// Base is the reason if the archiver has asked for the snapshot. Archived is true if there may be an archive.
	Base     string
	Archived bool
	// Prove is true if the archive is to be proven up to Newest. Distrusted is the proof that failed; nil if none did.
	Prove      bool
	Distrusted *v1beta2.ArchiveProof
	// Ranges are those that can be restored, as the archiver reports them.
	Ranges []archive.Range

	Kind Kind
	// Mark is true if a cluster without quorum is saved too, with a marked snapshot.
	Mark bool
	// Verify is true if the snapshot is tested. A one-shot is not tested again if its path is Proven. In a series the store
	// has the results.
	Verify bool
	Proven string
	// Doubted is true if the status reports a failed restore test, which the result of a later one must replace.
	Doubted bool
	// Newest is the newest known snapshot, for a restore test.
	Newest v1beta2.Snapshot
}

func jobSpecOf(s State) jobSpec {
	o := jobSpec{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, Since: s.CreatedAt,
		Target: s.Target, Timeout: s.Timeout(), Series: s.Series(), Keep: policy(s.Name, s.Spec),
		Mark: s.Spec.NoQuorum == v1beta2.NoQuorumMark, Verify: s.Spec.Verify == v1beta2.VerifyRestore,
		Encoder: encoder(s.Spec),
		URLs:    s.Spec.EtcdEndpoints, TLSSecret: s.tlsSecret(), AuthSecret: s.authSecret(), Cluster: sourceName(s.Name, s.Spec),
	}
	o.Keep.Owner = ownerOf(s)
	o.Signing = s.signingSecret()
	o.Rhythm, _ = rhythm(s.Spec) // badPolicy has checked it
	if s.Series() {
		o.Jitter = s.jitter()
	}
	if s.Spec.CopyTo != nil && s.CopyProblem == nil {
		o.Copy = &s.CopyTarget
	}
	if p := s.Spec.BackupPolicy; p != nil {
		o.BytesPerSecond = p.MaxBytesPerSecond
	}
	switch {
	case s.requested():
		o.Request = s.Request
	case s.baseWanted():
		o.Base = s.Archive.Want
		o.Request = "continuous archive: " + o.Base
	}
	o.Archived = s.everArchived()
	o.Prove, o.Distrusted = s.proofWanted(), s.distrusted()
	if o.Prove {
		o.Ranges = s.Archive.Ranges
	}
	if newest := s.recorded(); newest != nil {
		o.Newest = *newest
	}
	if d := s.Status.LastDrill; d != nil && s.here(d.Path) && d.Result == v1beta2.DrillPassed {
		o.Proven = d.Path
	} else if d != nil && s.here(d.Path) {
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

// sourceName is the name of the EtcdCluster. If the spec names endpoints instead, it is the name of the EtcdBackup.
func sourceName(backup string, spec v1beta2.EtcdBackupSpec) string {
	if spec.EtcdCluster != nil {
		return spec.EtcdCluster.Name
	}
	return backup
}

func (o jobSpec) seriesOf(id etcd.ID) snapshot.Series {
	return snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: uint64(id)}
}

// emptyRevision is the revision of a database that was never written to. Its file contains no revision.
const emptyRevision = 1

// fill adds what is known about a snapshot that is taken now from a member.
func (o jobSpec) fill(r *snapshot.Request, from ask.Answer, answers []ask.Answer, now time.Time) {
	id := from.Status.ClusterID
	r.Key, r.Encoder = o.Target.Key, o.Encoder
	if o.Series {
		r.Key = o.seriesOf(id).EncodedKey(now, from.Status.Revision, o.Encoder.Encoding())
	}
	r.Cluster = snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, UID: string(o.ClusterUID), ID: id.String()}
	r.EtcdVersion = from.Status.Version
	if from.Status.Revision > emptyRevision {
		r.MinRevision = from.Status.Revision
	}
	r.Time, r.Tool = now, tool()
	// These identify an earlier attempt. They change with the source, because that is another snapshot.
	r.Attempt, r.Since, r.Again = o.attemptOf(id), o.Since, !o.Series
	r.Backup, r.NoQuorum, r.Recovery = o.Name, from.NotServing != nil, o.Recovery
	for _, a := range answers {
		if a.Err == nil && a.Status.ClusterID == id {
			r.MemberIDs = append(r.MemberIDs, uint64(a.Status.MemberID))
		}
	}
}

// attemptOf is the mark in the manifest that identifies an earlier attempt. A snapshot that a user asked for by an
// annotation has its own mark, so that it is taken once, even if the status is lost.
func (o jobSpec) attemptOf(id etcd.ID) string {
	mark := o.mark() + "/" + id.String()
	if o.Request == "" {
		return mark
	}
	sum := sha256.Sum256([]byte(o.Request))
	return fmt.Sprintf("%s/now/%x", mark, sum[:8])
}

// ownerOf returns whose snapshots the EtcdBackup deals with.
func ownerOf(s State) snapshot.Owner {
	owner := snapshot.Owner{
		Namespace: s.Namespace, Cluster: sourceName(s.Name, s.Spec), Backup: s.Name, BackupUID: string(s.UID), BackupSince: s.CreatedAt,
	}
	if s.Spec.EtcdCluster != nil && s.Cluster != nil {
		owner.ClusterUID, owner.ClusterSince = string(s.Cluster.UID), s.Cluster.CreatedAt
	}
	return owner
}

// owns reports whether a snapshot is of this EtcdBackup.
func (o jobSpec) owns(key string, m snapshot.Manifest) bool {
	return o.Keep.Owner.Compare(key, m) == snapshot.Own
}

// ofCluster reports whether a snapshot is of the cluster of this EtcdBackup, whichever EtcdBackup has taken it.
func (o jobSpec) ofCluster(key string, m snapshot.Manifest) bool {
	return o.Keep.Owner.OfCluster(key, m)
}

// mark is the prefix of the Attempt of all snapshots of this EtcdBackup, and of no others.
func (o jobSpec) mark() string { return string(o.UID) }

// result is the Result of an attempt that has saved or found a snapshot.
func (o jobSpec) result(key string, saved snapshot.Saved, signers snapshot.Signers) Result {
	told := o.tell(key, saved.Manifest, signers)
	return Result{Found: saved.Found, Snapshot: &told}
}

func (o jobSpec) tell(key string, m snapshot.Manifest, signers snapshot.Signers) v1beta2.Snapshot {
	told := v1beta2.Snapshot{
		Path: o.Target.Bucket + "/" + key, Revision: m.Revision, Keys: m.Keys, Size: m.Size, PlainSize: m.PlainSize, SHA256: m.SHA256,
		EtcdVersion: bounded.Word(m.EtcdVersion), StorageVersion: bounded.Word(m.StorageVersion), ClusterID: bounded.Word(m.Cluster.ID), CreatedAt: stamp(m.CreatedAt), NoQuorum: m.NoQuorum,
	}
	if signers.Required() && signers.Check(key, m) == nil {
		told.SignedBy = m.Signature.Key
	}
	return told
}
