package state

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// PointOrder is what restore-operator needs to make the snapshot of a point, besides its source and choice.
type PointOrder struct {
	// Progress is up to when the EtcdBackup has archived its cluster. It is zero if that is not known.
	Progress archive.Progress
	// Options for writing the snapshot.
	Options storage.Options
	// Folder is that of the snapshot below the folder of the safety snapshots. Two EtcdRestores of one second may have the same point.
	// Folder, Mark and Time are the same in every attempt, so that an operator that was killed finds its snapshot again.
	Folder, Mark string
	Time         time.Time
	// DryRun writes no snapshot.
	DryRun bool
}

// KeysOrder says which keys to compare or to write, and how to reach the cluster.
type KeysOrder struct {
	Prefixes []string
	Prune    bool
	// Write writes what differs from Snapshot. Revision is that of the comparison.
	Write    bool
	Revision int64
	Snapshot v1beta2.Snapshot
	// Cluster has the members and how to reach them.
	Cluster SafetyOrder
}

// SafetyOrder is everything that one attempt needs.
type SafetyOrder struct {
	// Target is the object to write.
	Target storage.Location
	// Encoder of the EtcdBackup whose snapshot is restored, with the recipients of all EtcdBackups of the cluster if it has none. Encoded means that
	// none of them encrypts, and that the snapshot to restore is compressed or encrypted. If the Secret has an identity, the safety snapshot is
	// encrypted for it.
	Encoder codec.Encoder
	Encoded bool
	// URLs of the members, and the Secrets with the operators' client certificate and user. TLSSecret is empty without TLS,
	// and AuthSecret without a user.
	URLs                  []string
	TLSSecret, AuthSecret string
	// Namespace, Cluster, UID and ClusterID of the old cluster.
	Namespace, Cluster, UID, ClusterID string
	// Mark is the same in every attempt. Time is when the seed was ready, and Since when the restore was created.
	Mark        string
	Time, Since time.Time
	// MinRevision is the last revision that the old members acknowledged, if they refuse writes; else 0.
	MinRevision int64
}
