package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Live is a member of the running cluster that the snapshot was taken from.
type Live interface {
	// HashKV returns etcd's hash of the member's store up to a revision, and the revision that the store is compacted to.
	HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error)
}

// RestoreTestRequest says which snapshot to test, and how.
type RestoreTestRequest struct {
	// Namespace whose turn the check of the database takes.
	Namespace string
	Store     objstore.Store
	Key       string
	// Identities of age, one per line, for an encrypted object.
	Identities []byte
	// Signers, of which one must have signed the snapshot.
	Signers snapshot.Signers
	// ScratchDir needs space for twice the database. CleanSpool deletes the files of a killed process in it.
	ScratchDir string
	// Spool admits the test to ScratchDir, and Expected is the size of the database in bytes. A nil Spool admits
	// everything.
	Spool    Spool
	Expected int64
	// Try restores the downloaded file, in a process that may end. Only an error that is dbfile.ErrRefused means that the snapshot is
	// bad.
	Try func(context.Context, dbfile.Trial) (dbfile.KVHash, error)
	// MemoryLimit is the memory of Try in bytes. A database whose keys need more is not downloaded. 0 means no limit.
	MemoryLimit int64
	// Live is compared with the restored data at the snapshot's revision; nil skips the comparison. The cluster must not
	// have compacted that revision, so run the test soon after the snapshot was taken.
	Live Live
	// Progress is called with the number of bytes read from the object; may be nil.
	Progress func(int64)
}

// RestoreTestResult is what a restore test has verified: the object can be read completely and agrees with its manifest,
// and etcd's storage opens a data directory that was restored from it.
type RestoreTestResult struct {
	// Manifest is nil if the object has none.
	Manifest *snapshot.Manifest
	// Info is the content of the snapshot.
	Info dbfile.Info
	// SHA256 and Size of the object.
	SHA256 string
	Size   int64
	// Restored is etcd's hash of the restored store at the snapshot's revision.
	Restored dbfile.KVHash
	// Compared means that the live cluster has the same hash at that revision. If false, Why is the reason why the hashes
	// could not be compared. The snapshot may be good nevertheless.
	Compared bool
	Why      string
}

var (
	// ErrNotTested means that the process of the restore test did not run, for example because the node has no process left.
	// It says nothing about the snapshot.
	ErrNotTested = errors.New("the restore test did not run")
	// ErrUnrestorable means that the snapshot is complete, but etcd cannot create or open a data directory from it.
	ErrUnrestorable = errors.New("etcd cannot restore the snapshot")
	// ErrDiffers means that the restored store and the live cluster differ at the same revision: one of them is damaged.
	ErrDiffers = errors.New("the restored data differs from the live cluster's at the same revision")
)

// RunRestoreTest reads a snapshot from its store, restores it into ScratchDir, opens the data directory with etcd's storage
// code, and compares its hash with the live cluster's. The errors of a bad snapshot are those of Fetch, ErrUnrestorable
// and ErrDiffers. ErrDisk is the local disk. Any other error may be temporary.
func RunRestoreTest(ctx context.Context, r RestoreTestRequest) (RestoreTestResult, error) {
	result, err := testRestore(ctx, r)
	if err != nil {
		return result, fmt.Errorf("restore test of snapshot %s: %w", r.Key, err)
	}
	return result, nil
}

// walSize is the space of a new write-ahead log. etcd allocates two segments of 64 MB in advance.
const walSize = 128 << 20

// RestoreTestSpace returns how many bytes of the spool a restore test of a database of that size needs: the snapshot, the
// data directory, and its write-ahead log.
func RestoreTestSpace(database int64) int64 { return 2*database + walSize }

func testRestore(ctx context.Context, r RestoreTestRequest) (_ RestoreTestResult, err error) {
	if err := r.fitsMemory(ctx); err != nil {
		return RestoreTestResult{}, err
	}
	share, err := Reserve(ctx, r.Spool, RestoreTestSpace(r.Expected))
	if err != nil {
		return RestoreTestResult{}, err
	}
	defer share.Release()
	dir, err := os.MkdirTemp(r.ScratchDir, restoreTestPattern)
	if err != nil {
		return RestoreTestResult{}, diskError(err)
	}
	defer func() {
		if failed := os.RemoveAll(dir); failed != nil && err == nil {
			err = diskError(failed)
		}
	}()
	fetched, err := Fetch(ctx, counting{r.Store, r.Key, r.Progress}, r.Key, Place{Namespace: r.Namespace, Dir: dir, Room: r.room(share)}, r.Identities, r.Signers)
	if err != nil {
		return RestoreTestResult{}, err
	}
	result := RestoreTestResult{Manifest: fetched.Manifest, Info: fetched.Info, SHA256: fetched.SHA256, Size: fetched.Size}
	trial := dbfile.Trial{SnapshotPath: fetched.Path, DataDir: filepath.Join(dir, "data"), Proven: true}
	return result, result.compare(ctx, r, trial)
}

// room returns the room for the downloaded file, beside which the test needs its data directory. A snapshot that has outgrown
// the spool is not the one that was taken, because that one had the expected size.
func (r RestoreTestRequest) room(share *spool.Share) Room {
	return RoomFunc(func(bytes, written int64) error {
		err := share.Grow(RestoreTestSpace(bytes), written)
		if errors.Is(err, spool.ErrOverLimit) && r.Expected > 0 && bytes > r.Expected {
			return fmt.Errorf("it has more than the %d bytes that were stored, and does not fit into the spool volume: %w", r.Expected, dbfile.ErrCorrupt)
		}
		return err
	})
}

// fitsMemory returns dbfile.ErrMemory if the manifest states more keys than fit into the memory of a restore test.
func (r RestoreTestRequest) fitsMemory(ctx context.Context) error {
	if r.MemoryLimit == 0 {
		return nil
	}
	m, err := snapshot.ManifestOf(ctx, r.Store, r.Key, r.Signers)
	if err != nil || m == nil || dbfile.MemoryOf(m.Keys) <= r.MemoryLimit {
		return err
	}
	const mib = 1 << 20
	return fmt.Errorf("%w: the snapshot has %d keys, for which a restore test needs about %d MiB, and it may use %d MiB",
		dbfile.ErrMemory, m.Keys, dbfile.MemoryOf(m.Keys)/mib, r.MemoryLimit/mib)
}

// compare restores the snapshot and compares its hash with the live cluster's. The snapshot's revision is 0 if nothing was
// ever written; etcd itself starts at revision 1, and takes 0 for the current revision. The cluster is asked first, before
// it compacts the revision.
func (r *RestoreTestResult) compare(ctx context.Context, request RestoreTestRequest, trial dbfile.Trial) error {
	trial.Revision = max(r.Info.Revision, 1)
	want := r.ask(ctx, request.Live, trial.Revision)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.Why == "" {
		trial.CompactRevision = want.CompactRevision
	}
	var err error
	if r.Restored, err = request.Try(ctx, trial); err != nil {
		return unrestorable(ctx, err)
	}
	switch {
	case r.Why != "":
	case r.Restored.CompactRevision != want.CompactRevision:
		// The member may have computed its hash before its last compaction.
		r.Why = fmt.Sprintf("the cluster's hash was computed at compaction %d and the snapshot's at %d", want.CompactRevision, r.Restored.CompactRevision)
	case r.Restored.Hash != want.Hash:
		return fmt.Errorf("%w: at revision %d the restored hash is %d and the cluster's is %d", ErrDiffers, trial.Revision, r.Restored.Hash, want.Hash)
	default:
		r.Compared = true
	}
	return nil
}

// ask reads the hash of the live cluster. If it cannot be compared, Why is the cause.
func (r *RestoreTestResult) ask(ctx context.Context, live Live, at int64) dbfile.KVHash {
	if live == nil {
		r.Why = "there is no cluster to compare with"
		return dbfile.KVHash{}
	}
	hash, compacted, err := live.HashKV(ctx, at)
	switch {
	case err != nil:
		r.Why = err.Error()
	case compacted > at:
		r.Why = fmt.Sprintf("the cluster is compacted to revision %d", compacted)
	}
	return dbfile.KVHash{Hash: hash, Revision: at, CompactRevision: compacted}
}

// unrestorable separates faults of the snapshot from faults of the local machine.
func unrestorable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, dbfile.ErrDisk):
		return diskError(err)
	case errors.Is(err, dbfile.ErrMemory), errors.Is(err, turns.ErrOthersWaited):
		return err
	case errors.Is(err, dbfile.ErrRefused):
		return fmt.Errorf("%w: %w", ErrUnrestorable, err)
	}
	return fmt.Errorf("%w: %w", ErrNotTested, err)
}
