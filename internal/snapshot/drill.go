package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Live is a member of the cluster that a snapshot was taken from.
type Live interface {
	// HashKV is etcd's hash of all that the member's store holds up to a revision, and
	// the revision that the store is compacted to.
	HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error)
}

// DrillRequest says which snapshot to try out.
type DrillRequest struct {
	Store objstore.Store
	Key   string
	// Identities of age, one a line, for an object that is encrypted.
	Identities []byte
	// ScratchDir has room for twice the database. What is left in it by a process that
	// was killed goes with CleanSpool.
	ScratchDir string
	// Live is compared with; nil compares with nothing. It is asked at the snapshot's
	// revision, so best soon after the snapshot was taken.
	Live Live
	// Progress is told how many bytes of the object have been read; nil tells nobody.
	Progress func(int64)
}

// Drilled is what a drill has proven: the object was read back whole, it is what its
// manifest says, and a data directory that was made of it opens as a member opens it.
type Drilled struct {
	// Manifest is nil for an object that has none.
	Manifest *Manifest
	// Info is what is in the snapshot.
	Info dbfile.Info
	// SHA256 and Size of the object.
	SHA256 string
	Size   int64
	// Restored is etcd's hash of the restored store at the snapshot's revision.
	Restored dbfile.KVHash
	// Compared: the live cluster has the same hash at that revision. Otherwise Why says
	// why it could not be compared, which says nothing against the snapshot.
	Compared bool
	Why      string
}

var (
	// ErrUnrestorable says that the object is a whole snapshot of which etcd cannot make
	// or open a data directory.
	ErrUnrestorable = errors.New("etcd cannot restore the snapshot")
	// ErrDiffers says that the restored store is not what the live cluster had at the
	// same revision: one of the two is damaged.
	ErrDiffers = errors.New("restored data differs from the live cluster's at the same revision")
)

// Drill reads a snapshot back from its store, restores it into scratch space, opens it
// as etcd would, and compares its hash with the live cluster's. Errors of the object
// are those of Fetch, ErrUnrestorable and ErrDiffers; ErrDisk is the disk here, and
// any other may pass.
func Drill(ctx context.Context, r DrillRequest) (Drilled, error) {
	drilled, err := drill(ctx, r)
	if err != nil {
		return drilled, fmt.Errorf("drill of snapshot %s: %w", r.Key, err)
	}
	return drilled, nil
}

func drill(ctx context.Context, r DrillRequest) (_ Drilled, err error) {
	dir, err := os.MkdirTemp(r.ScratchDir, drillPattern)
	if err != nil {
		return Drilled{}, diskError(err)
	}
	defer func() {
		if failed := os.RemoveAll(dir); failed != nil && err == nil {
			err = diskError(failed)
		}
	}()
	fetched, err := Fetch(ctx, counting{r.Store, r.Key, r.Progress}, r.Key, dir, r.Identities)
	if err != nil {
		return Drilled{}, err
	}
	drilled := Drilled{Manifest: fetched.Manifest, Info: fetched.Info, SHA256: fetched.SHA256, Size: fetched.Size}
	data := filepath.Join(dir, "data")
	const member, peer = "drill", "http://drill.invalid:2380" // nobody ever starts it
	err = dbfile.Restore(ctx, dbfile.Options{
		SnapshotPath: fetched.Path, DataDir: data, Name: member, PeerURLs: []string{peer},
		InitialCluster: member + "=" + peer, Token: member,
	})
	if err != nil {
		return drilled, unrestorable(ctx, err)
	}
	return drilled, drilled.compare(ctx, r.Live, data)
}

// compare opens the data directory and asks the live cluster. A store that was never
// written to has revision 1 and no keys.
func (d *Drilled) compare(ctx context.Context, live Live, data string) error {
	at := max(d.Info.Revision, 1)
	var want dbfile.KVHash
	if live == nil {
		d.Why = "there is no cluster to compare with"
	} else if hash, compacted, err := live.HashKV(ctx, at); err != nil {
		d.Why = err.Error()
	} else if want = (dbfile.KVHash{Hash: hash, Revision: at, CompactRevision: compacted}); compacted > at {
		d.Why = fmt.Sprintf("the cluster is compacted to revision %d", compacted)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	compactTo := want.CompactRevision
	if d.Why != "" {
		compactTo = 0
	}
	var err error
	if d.Restored, err = dbfile.HashKV(ctx, data, at, compactTo); err != nil {
		return unrestorable(ctx, err)
	}
	switch {
	case d.Why != "":
	case d.Restored.CompactRevision != want.CompactRevision:
		// A member may answer with a hash that it computed before its last compaction.
		d.Why = fmt.Sprintf("the cluster's hash is of compaction %d and the snapshot's of %d", want.CompactRevision, d.Restored.CompactRevision)
	case d.Restored.Hash != want.Hash:
		return fmt.Errorf("%w: at revision %d the hash is %d here and %d there", ErrDiffers, at, d.Restored.Hash, want.Hash)
	default:
		d.Compared = true
	}
	return nil
}

// unrestorable tells what is wrong with the snapshot from what is wrong here.
func unrestorable(ctx context.Context, err error) error {
	var path *fs.PathError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &path), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO), strings.Contains(err.Error(), syscall.ENOSPC.Error()):
		return diskError(err)
	}
	return fmt.Errorf("%w: %w", ErrUnrestorable, err)
}

// counting tells how much of one object was read.
type counting struct {
	objstore.Store
	key      string
	progress func(int64)
}

func (c counting) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := c.Store.Get(ctx, key)
	if err != nil || key != c.key || c.progress == nil {
		return body, err
	}
	return &countingBody{ReadCloser: body, progress: c.progress}, nil
}

type countingBody struct {
	io.ReadCloser
	read     int64
	progress func(int64)
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.progress(b.read)
	return n, err
}
