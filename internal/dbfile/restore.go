package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// Options of a restore.
type Options struct {
	// SnapshotPath is the file to restore.
	SnapshotPath string
	// DataDir is the data directory to create. Restore renames a directory to it, so it must be inside a volume and not
	// its mount point.
	DataDir string
	// Name of the member.
	Name string
	// PeerURLs of the member, equal to those in InitialCluster.
	PeerURLs []string
	// InitialCluster is "name=peerURL,..." of all members of the new cluster.
	InitialCluster string
	// Token of the new cluster. Each token gives another cluster ID.
	Token string
	// RevisionBump is added to the snapshot's revision, so that the new revision is higher than any that a client has
	// seen. It requires MarkCompacted.
	RevisionBump uint64
	// MarkCompacted marks all revisions up to the bumped one as compacted, so that watchers detect the changed history.
	MarkCompacted bool
	// Proven means that the caller has verified the file and its trailer, so Restore does not verify it again.
	Proven bool
}

// suffix is the suffix of the work directory beside DataDir.
const suffix = ".restoring"

// Restore creates a data directory from a snapshot. It works in a directory beside DataDir and renames it at the end, so
// that DataDir is always complete. If DataDir is complete already, Restore does nothing and returns nil, so that a killed
// process can run it again.
func Restore(ctx context.Context, o Options) error {
	done, err := complete(o.DataDir)
	if err != nil || done {
		return err
	}
	if err := o.validate(); err != nil {
		return fmt.Errorf("restore snapshot %s: %w", o.SnapshotPath, err)
	}
	if !o.Proven {
		if _, err := Inspect(o.SnapshotPath); err != nil {
			return err
		}
	}
	work := o.DataDir + suffix
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("remove the work directory of an earlier restore: %w", err)
	}
	err = ctx.Err()
	if err == nil {
		err = restore(o, work)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = commit(work, o.DataDir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore snapshot %s: %w", o.SnapshotPath, err), os.RemoveAll(work))
	}
	return nil
}

func (o Options) validate() error {
	switch {
	case (o.RevisionBump > 0) != o.MarkCompacted:
		return errors.New("a revision bump and marking compacted go together: set both or neither")
	case o.RevisionBump > 1<<62:
		return fmt.Errorf("revision bump %d is more than the maximum of %d", o.RevisionBump, uint64(1<<62))
	case o.Name == "" || o.Token == "" || len(o.PeerURLs) == 0 || o.InitialCluster == "":
		return errors.New("name, token, peer URLs and initial cluster must be set")
	}
	return nil
}

// complete reports whether dir is a complete data directory. It fails for a directory with other content, because Restore
// must not delete it.
func complete(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read data directory: %w", err)
	}
	for _, name := range []string{"member/snap/db", "member/wal"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return false, fmt.Errorf("data directory %s is neither empty nor complete: %w", dir, err)
		}
	}
	return true, nil
}

// restore runs etcdutl's restore. It turns etcdutl's panics into errors, and also its fatal log lines, which would end the
// process.
func restore(o Options, dir string) (err error) {
	// The database is mapped into memory: turn a fault on it into a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcdutl panicked: %w", Panicked(p))
		}
	}()
	logger := PanickingLogger()
	err = snapshot.NewV3(logger).Restore(snapshot.RestoreConfig{
		SnapshotPath:        o.SnapshotPath,
		Name:                o.Name,
		OutputDataDir:       dir,
		PeerURLs:            o.PeerURLs,
		InitialCluster:      o.InitialCluster,
		InitialClusterToken: o.Token,
		RevisionBump:        o.RevisionBump,
		MarkCompacted:       o.MarkCompacted,
		SkipHashCheck:       o.Proven,
	})
	if err != nil {
		return err
	}
	return removeAlarms(logger, filepath.Join(dir, "member", "snap", "db"))
}

// removeAlarms removes the alarms of the old members, which etcdutl keeps. The new member would refuse requests because
// of them. If their cause is still there, etcd raises them again.
func removeAlarms(logger *zap.Logger, path string) error {
	config := backend.DefaultBackendConfig(logger)
	config.Path, config.UnsafeNoFsync = path, true // commit syncs the file
	b := backend.New(config)
	tx := b.BatchTx()
	tx.LockOutsideApply()
	tx.UnsafeDeleteBucket(schema.Alarm)
	tx.UnsafeCreateBucket(schema.Alarm)
	tx.Unlock()
	b.ForceCommit()
	return b.Close()
}

// commit syncs all files of the finished directory, because etcdutl does not sync all of them, and renames it.
func commit(work, dir string) error {
	err := filepath.WalkDir(work, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncPath(path)
	})
	if err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // complete has found it empty, and os.Rename does not replace a directory
	}
	if err := os.Rename(work, dir); err != nil {
		return err
	}
	return syncPath(filepath.Dir(dir))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
