package state

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
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// JobSpec is everything that an attempt needs: plain data, taken from a State when it starts.
type JobSpec struct {
	Namespace, Name string
	UID             types.UID
	// Since is when the EtcdBackup was created.
	Since  time.Time
	Target storage.Location
	// Copy is the second location, and nil without one. CopyHasArchive is true if the status shows that there is a copy of the archive.
	Copy           *storage.Location
	CopyHasArchive bool
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
	Keep    retention.Policy
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

// SeriesOf returns the series of the cluster with that ID.
func (o JobSpec) SeriesOf(id etcd.ID) snapshot.Series {
	return snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: uint64(id)}
}

// Owns reports whether a snapshot is of this EtcdBackup.
func (o JobSpec) Owns(key string, m snapshot.Manifest) bool {
	return o.Keep.Owner.Compare(key, m) == snapshot.Own
}

// Took reports whether this EtcdBackup has taken a snapshot.
func (o JobSpec) Took(key string, m snapshot.Manifest) bool {
	return m.Backup == o.Name && o.Owns(key, m)
}

// OfCluster reports whether a snapshot is of the cluster of this EtcdBackup, whichever EtcdBackup has taken it.
func (o JobSpec) OfCluster(key string, m snapshot.Manifest) bool {
	return o.Keep.Owner.OfCluster(key, m)
}

// AttemptPrefix is the prefix of the Attempt of all snapshots of this EtcdBackup, and of no others.
func (o JobSpec) AttemptPrefix() string { return string(o.UID) }

// Shown returns a snapshot as the status shows it. It names the key of the signature only if that is one of the signers.
func (o JobSpec) Shown(key string, m snapshot.Manifest, signers snapshot.Signers) v1beta2.Snapshot {
	told := v1beta2.Snapshot{
		Path: o.Target.Bucket + "/" + key, Revision: m.Revision, Keys: m.Keys, Size: m.Size, PlainSize: m.PlainSize, SHA256: m.SHA256,
		EtcdVersion: bounded.Word(m.EtcdVersion), StorageVersion: bounded.Word(m.StorageVersion), ClusterID: bounded.Word(m.Cluster.ID), CreatedAt: Stamp(m.CreatedAt), NoQuorum: m.NoQuorum,
	}
	if signers.Required() && signers.Check(key, m) == nil {
		told.SignedBy = m.Signature.Key
	}
	return told
}

// ArchiveRoot is the prefix of all keys of the archive.
func (o JobSpec) ArchiveRoot() string { return archive.Root(o.Target.Key, o.Namespace, o.Cluster) }

// ArchiveName differs from that of any other archive.
func (o JobSpec) ArchiveName() string {
	return o.Target.Store() + " " + o.Target.Bucket + "/" + o.ArchiveRoot()
}

// Second is the job spec for the second location, as if that had no archive.
func (o JobSpec) Second() JobSpec {
	o.Target = *o.Copy
	o.Archived, o.Keep.Window, o.Distrusted = false, 0, nil
	return o
}

// CopiedArchive is the job spec for the archive in the second location.
func (o JobSpec) CopiedArchive() JobSpec {
	o.Target = *o.Copy
	return o
}

// AttemptOf is the mark in the manifest that identifies an earlier attempt. A snapshot that a user asked for by an
// annotation has its own mark, so that it is taken once, even if the status is lost.
func (o JobSpec) AttemptOf(id etcd.ID) string {
	mark := o.AttemptPrefix() + "/" + id.String()
	if o.Request == "" {
		return mark
	}
	sum := sha256.Sum256([]byte(o.Request))
	return fmt.Sprintf("%s/now/%x", mark, sum[:8])
}
