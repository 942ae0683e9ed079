package restore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/restore/keys"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// errKeysSlow ends a comparison, or an attempt to write.
var errKeysSlow = errors.New("the members were too slow")

const (
	// keysBase and keysRate limit what follows the reading: ten minutes, and the time for the bytes of the snapshot at 8 MiB a second.
	keysBase = 10 * time.Minute
	keysRate = 8 << 20
)

// keys compares or writes the keys of a verified snapshot, if that is asked.
func (s Spool) keys(ctx context.Context, asked Asked, read source.Proven) (*v1beta2.PrefixesStatus, error) {
	o := asked.Keys
	if o == nil {
		return nil, nil //nolint:nilnil // nothing was asked
	}
	if o.Write && snapshot.Replaced(o.Snapshot.SHA256, read.Snapshot.SHA256) {
		return nil, fmt.Errorf("%w: its SHA-256 is %s, and was %s", errReplaced, read.Snapshot.SHA256, o.Snapshot.SHA256)
	}
	prefixes := keys.Disjoint(o.Prefixes)
	entries, size, remove, err := extractKeys(ctx, s.Dir(), asked.Namespace, read.File, prefixes)
	if err != nil {
		return nil, err
	}
	defer remove()
	if asked.extracted != nil {
		if err := asked.extracted(size); err != nil {
			return nil, err
		}
	}
	// The extraction may wait for the checks of others, and has limits of its own.
	ctx, cancel := context.WithTimeoutCause(ctx, keysBase+time.Duration(read.Snapshot.Size/keysRate)*time.Second, errKeysSlow)
	defer cancel()
	client, id, by, err := connectTo(ctx, o.Cluster, asked.Members)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMembers, explainAccess(by, err))
	}
	defer client.Close()
	if o.Write && asked.stay != nil && !asked.stay() {
		<-ctx.Done() // it ends before anything is written
		return nil, context.Cause(ctx)
	}
	found, err := keys.Run(ctx, client, entries, keys.Order{
		ClusterID: id, Prefixes: prefixes, Revision: o.Revision, Prune: o.Prune, Write: o.Write, Large: s.largeKeys(asked.Namespace),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMembers, explainAccess(by, err))
	}
	return &v1beta2.PrefixesStatus{
		ClusterID: o.Cluster.ClusterID, Revision: found.Revision,
		Created: found.Created, Changed: found.Changed, Deleted: found.Deleted, Kept: found.Kept, Unchanged: found.Unchanged,
		Leased: found.Leased, Conflicts: found.Conflicts, First: found.First,
	}, nil
}

// connectTo connects to a voter of the cluster that has a quorum.
func connectTo(ctx context.Context, o state.SafetyOrder, secrets SafetySecrets) (client *etcd.Client, id etcd.ID, by ask.Access, err error) {
	if by, err = accessOf(o, secrets, nil); err != nil {
		return nil, 0, by, err
	}
	if id, err = etcd.ParseID(o.ClusterID); err != nil {
		return nil, 0, by, err
	}
	member, _, err := chooseMember(ctx, o, by)
	if err != nil {
		return nil, 0, by, err
	}
	client, err = openPinned(ctx, member.URL, by)
	return client, id, by, err
}

// openPinned connects to one address of a member. A connection that breaks comes back to the same address, whatever the name leads to then.
func openPinned(ctx context.Context, text string, by ask.Access) (*etcd.Client, error) {
	member, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the URL of the member: %w", err)
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, member.Hostname())
	if err != nil {
		return nil, err
	}
	return etcd.Open(etcd.Endpoint{URL: text, Address: net.JoinHostPort(addresses[0], member.Port()), Login: by.Login}, by.TLS)
}

// extractKeys writes the keys of a snapshot and their values into two files in the folder of the spool, which remove deletes. size is that of both.
func extractKeys(ctx context.Context, spool, namespace, file string, prefixes []string) (entries *dbfile.Entries, size int64, remove func(), err error) {
	dir, err := os.MkdirTemp(spool, "keys-")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%w: %w", source.ErrDisk, err)
	}
	values, err1 := os.Create(filepath.Join(dir, "values"))
	index, err2 := os.Create(filepath.Join(dir, "index"))
	remove = func() {
		_, _, _ = values.Close(), index.Close(), os.RemoveAll(dir)
	}
	if err := errors.Join(err1, err2); err != nil {
		remove()
		return nil, 0, nil, fmt.Errorf("%w: %w", source.ErrDisk, err)
	}
	if err := dbcheck.Extract(ctx, namespace, file, prefixes, values, index); err != nil {
		remove()
		return nil, 0, nil, fmt.Errorf("read the keys of the snapshot: %w", err)
	}
	ofValues, err1 := values.Stat()
	ofIndex, err2 := index.Stat()
	_, err3 := index.Seek(0, 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		remove()
		return nil, 0, nil, fmt.Errorf("%w: %w", source.ErrDisk, err)
	}
	return dbfile.NewEntries(index, values, ofValues.Size()), ofValues.Size() + ofIndex.Size(), remove, nil
}
