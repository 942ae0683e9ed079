package backup

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore/connect"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// order is all that an attempt is told: plain data, taken from a State when it starts.
type order struct {
	Namespace, Name string
	UID             types.UID
	// Since is when the EtcdBackup was created.
	Since  time.Time
	Target Target
	// StoreOptions and Encoder say how objects are kept, and how they are made.
	StoreOptions connect.Options
	Encoder      snapshot.Encoder
	Timeout      time.Duration

	// URLs of the members, and the Secret to talk to them; empty without TLS.
	URLs      []string
	TLSSecret string
	// ClusterID that the members must be of, empty where nothing is known of it.
	ClusterID string
	// Cluster names the source in manifests and in the keys of a series.
	Cluster    string
	ClusterUID types.UID

	// Interval of a series, 0 for a one-shot, and how many of its snapshots to keep, 0 for all.
	Interval time.Duration
	Keep     int
}

func orderOf(s State) order {
	o := order{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, Since: s.CreatedAt,
		Target: s.Target, Timeout: s.Timeout(), Interval: s.interval(),
		StoreOptions: storeOptions(s.Spec.Storage), Encoder: encoder(s.Spec),
		URLs: s.Spec.EtcdEndpoints, TLSSecret: s.tlsSecret(), Cluster: sourceName(s.Name, s.Spec),
	}
	if s.Spec.BackupPolicy != nil {
		o.Keep = s.Spec.BackupPolicy.MaxBackups
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

func (o order) series() bool { return o.Interval > 0 }

func (o order) seriesOf(id etcd.ID) snapshot.Series {
	return snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: uint64(id)}
}

// emptyRevision is what a member says of a store that was never written to; its file holds none at all.
const emptyRevision = 1

// describe fills in what a snapshot is of, taken now from a member.
func (o order) describe(r *snapshot.Request, from answer, answers []answer, now time.Time) {
	id := from.Status.ClusterID
	r.Key, r.Encoder = o.Target.Key, o.Encoder
	if o.series() {
		r.Key = o.seriesOf(id).EncodedKey(now, from.Status.Revision, o.Encoder.Encoding())
	}
	r.Cluster = snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, UID: string(o.ClusterUID), ID: id.String()}
	r.EtcdVersion = from.Status.Version
	if from.Status.Revision > emptyRevision {
		r.MinRevision = from.Status.Revision
	}
	r.Time, r.Tool = now, tool()
	// An earlier try is recognised by these. After an edit of the source the same EtcdBackup wants something else.
	r.Attempt, r.Since = string(o.UID)+"/"+id.String(), o.Since
	for _, a := range answers {
		if a.Err == nil && a.Status.ClusterID == id {
			r.MemberIDs = append(r.MemberIDs, uint64(a.Status.MemberID))
		}
	}
}

// result tells of a snapshot in the words of the API.
func (o order) result(key string, saved snapshot.Saved) Result {
	m := saved.Manifest
	return Result{Found: saved.Found, Snapshot: &v1beta2.Snapshot{
		Path: o.Target.Bucket + "/" + key, Revision: m.Revision, Keys: m.Keys, Size: m.Size, PlainSize: m.PlainSize, SHA256: m.SHA256,
		EtcdVersion: m.EtcdVersion, StorageVersion: m.StorageVersion, ClusterID: m.Cluster.ID, CreatedAt: stamp(m.CreatedAt),
	}}
}
