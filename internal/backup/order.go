package backup

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// order is all that an attempt is told: plain data, taken from a State when it starts.
type order struct {
	Namespace, Name string
	UID             types.UID
	// Since is when the EtcdBackup was created.
	Since  time.Time
	Target storage.Location
	// Encoder makes the objects.
	Encoder snapshot.Encoder
	Timeout time.Duration

	// URLs of the members, and the Secret to talk to them; empty without TLS.
	URLs      []string
	TLSSecret string
	// ClusterID that the members must be of, empty where nothing is known of it.
	ClusterID string
	// Cluster names the source in manifests and in the keys of a series.
	Cluster    string
	ClusterUID types.UID

	// Series: the snapshot is the next of one, which is due by Rhythm, or since somebody asked by Request. Of the
	// others it keeps what Keep says.
	Series  bool
	Rhythm  schedule.Schedule
	Request string
	Keep    snapshot.Policy

	Kind Kind
	// Mark: a cluster without quorum is saved, and the snapshot marked.
	Mark bool
	// Verify: the snapshot is read back, unless Proven is its path.
	Verify bool
	Proven string
	// Newest is the newest snapshot that is known, for a drill.
	Newest v1beta2.Snapshot
}

func orderOf(s State) order {
	o := order{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, Since: s.CreatedAt,
		Target: s.Target, Timeout: s.Timeout(), Series: s.Series(), Keep: policy(s.Name, s.Spec),
		Mark: s.Spec.NoQuorum == v1beta2.NoQuorumMark, Verify: s.Spec.Verify == v1beta2.VerifyRestore,
		Encoder: encoder(s.Spec),
		URLs:    s.Spec.EtcdEndpoints, TLSSecret: s.tlsSecret(), Cluster: sourceName(s.Name, s.Spec),
	}
	o.Rhythm, _ = rhythm(s.Spec) // badPolicy has refused what is none
	if s.asked() {
		o.Request = s.Request
	}
	if s.Status.Snapshot != nil {
		o.Newest = *s.Status.Snapshot
	}
	switch d := s.Status.LastDrill; {
	case d == nil:
	case d.Result == v1beta2.DrillPassed:
		o.Proven = d.Path
	default:
		o.Keep.Suspect = strings.TrimPrefix(d.Path, s.Target.Bucket+"/")
	}
	if s.Spec.EtcdCluster != nil && s.Cluster != nil {
		o.URLs, o.ClusterID, o.ClusterUID = s.Cluster.ClientURLs, s.Cluster.ID, s.Cluster.UID
	}
	return o
}

// sourceName is the EtcdCluster's, or the EtcdBackup's own where the source is named by endpoints.
func sourceName(backup string, spec v1beta2.EtcdBackupSpec) string {
	if spec.EtcdCluster != nil {
		return spec.EtcdCluster.Name
	}
	return backup
}

func (o order) seriesOf(id etcd.ID) snapshot.Series {
	return snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: uint64(id)}
}

// emptyRevision is what a member says of a store that was never written to; its file holds none at all.
const emptyRevision = 1

// describe fills in what a snapshot is of, taken now from a member.
func (o order) describe(r *snapshot.Request, from answer, answers []answer, now time.Time) {
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
	// An earlier try is recognised by these. After an edit of the source the same EtcdBackup wants something else.
	r.Attempt, r.Since, r.Again = o.attemptOf(id), o.Since, !o.Series
	r.Backup, r.NoQuorum = o.Name, from.NotServing != nil
	for _, a := range answers {
		if a.Err == nil && a.Status.ClusterID == id {
			r.MemberIDs = append(r.MemberIDs, uint64(a.Status.MemberID))
		}
	}
}

// attemptOf is the mark in manifests by which an earlier try is known again. What somebody asked for by an
// annotation has one of its own, so that it is taken once and not again when the status was lost.
func (o order) attemptOf(id etcd.ID) string {
	mark := o.mark() + "/" + id.String()
	if o.Request == "" {
		return mark
	}
	sum := sha256.Sum256([]byte(o.Request))
	return fmt.Sprintf("%s/now/%x", mark, sum[:8])
}

// mark is what the Attempt of all snapshots that this EtcdBackup wrote begins with, and of no others.
func (o order) mark() string { return string(o.UID) }

// result tells of a snapshot in the words of the API.
func (o order) result(key string, saved snapshot.Saved) Result {
	told := o.tell(key, saved.Manifest)
	return Result{Found: saved.Found, Snapshot: &told}
}

func (o order) tell(key string, m snapshot.Manifest) v1beta2.Snapshot {
	return v1beta2.Snapshot{
		Path: o.Target.Bucket + "/" + key, Revision: m.Revision, Keys: m.Keys, Size: m.Size, PlainSize: m.PlainSize, SHA256: m.SHA256,
		EtcdVersion: m.EtcdVersion, StorageVersion: m.StorageVersion, ClusterID: m.Cluster.ID, CreatedAt: stamp(m.CreatedAt), NoQuorum: m.NoQuorum,
	}
}
