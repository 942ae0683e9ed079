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
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Options of a restore.
type Options struct {
	// SnapshotPath is the file to restore. It is only read.
	SnapshotPath string
	// DataDir is the data directory to make. It gets its name by a rename, so it
	// is a directory inside of a volume and not the mount point.
	DataDir string
	// Name of the member.
	Name string
	// PeerURLs of the member, as InitialCluster has them.
	PeerURLs []string
	// InitialCluster is "name=peerURL,..." of all members of the new cluster.
	InitialCluster string
	// Token of the new cluster. Another token makes another cluster ID.
	Token string
	// RevisionBump is added to the snapshot's revision, so that no client has seen
	// a newer one. It goes with MarkCompacted.
	RevisionBump uint64
	// MarkCompacted makes every revision up to the bumped one compacted, so that
	// watchers notice that history has changed.
	MarkCompacted bool
	// Proven: the caller has read the file whole and found it good, trailer and all, so it is not read once more for that.
	Proven bool
}

// suffix of the directory beside DataDir in which a restore works.
const suffix = ".restoring"

// Restore makes a data directory of a snapshot: in a directory beside it, which
// then takes its name, so that it is never half there. A data directory that is
// complete is left as it is, and that is no error: whoever is killed after the
// last step does it again.
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
		return fmt.Errorf("remove what an earlier restore left: %w", err)
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
		return errors.New("a revision bump and marking compacted go together")
	case o.RevisionBump > 1<<62:
		return fmt.Errorf("revision bump %d is more than a revision can take", o.RevisionBump)
	case o.Name == "" || o.Token == "" || len(o.PeerURLs) == 0 || o.InitialCluster == "":
		return errors.New("name, token, peer URLs and initial cluster are needed")
	}
	return nil
}

// complete says whether dir is a data directory already. A directory that holds
// something else is an error, because nothing here may be lost.
func complete(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at data directory: %w", err)
	}
	for _, name := range []string{"member/snap/db", "member/wal"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return false, fmt.Errorf("data directory %s is neither empty nor complete: %w", dir, err)
		}
	}
	return true, nil
}

// restore runs etcdutl's. It reports some errors by panics, and would end the
// process by its logger.
func restore(o Options, dir string) (err error) {
	// The database is mapped into memory: a fault on it becomes a panic, too.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcdutl gave up: %v", p)
		}
	}()
	logger := zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic))
	return snapshot.NewV3(logger).Restore(snapshot.RestoreConfig{
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
}

// commit gives the finished directory its name, after everything in it is on the
// disk: etcdutl does not sync all that it writes.
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
		return err // it was empty a moment ago, and os.Rename replaces no directory
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
