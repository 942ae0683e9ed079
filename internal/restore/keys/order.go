package keys

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Cluster is a running cluster. *etcd.Client is one.
type Cluster interface {
	Keys(ctx context.Context, of etcd.KeyRange) (etcd.Page, error)
	ApplyIfUnchanged(ctx context.Context, changes ...etcd.Change) (applied bool, err error)
}

// Snapshot has the keys of a snapshot in ascending order. *dbfile.Entries is one.
type Snapshot interface {
	// Next returns io.EOF after the last key.
	Next() (dbfile.Entry, error)
	Value(of dbfile.Entry) ([]byte, error)
	Length(of dbfile.Entry) int64
}

// Order says what to do with which keys.
type Order struct {
	// Prefixes of the keys.
	Prefixes []string
	// Revision of the cluster at the comparison. A key that was written later is a conflict. 0 means the present revision.
	Revision int64
	// Prune deletes the keys that the snapshot does not have.
	Prune bool
	// ClusterID is that of the cluster. A name may lead to another cluster when the operator connects again. 0 means any.
	ClusterID etcd.ID
	// Write writes. Otherwise the keys are only compared.
	Write bool
	// Large waits for a turn before a page or a transaction of more than etcd.SmallPage bytes, which takes several times its size. nil waits for nothing.
	Large func(ctx context.Context) (leave func(), err error)
}

// Result is what differs. Its fields are those of v1beta2.PrefixesStatus.
type Result struct {
	Revision                                                      int64
	Created, Changed, Deleted, Kept, Unchanged, Leased, Conflicts int64
	// First has the first keys of each kind, quoted.
	First []string
}

// Conflict is before the name of a key in Result.First that a client has written since the comparison.
const Conflict = "conflict"
