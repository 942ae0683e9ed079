package dbfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// Adopt creates a data directory like Restore, but links the database into it and does not copy it. So it takes as long for gigabytes as for kilobytes. The result is that
// of Restore: etcdutl restores an empty database, and what it writes there beside the keys is written into the database. The file at Options.SnapshotPath must be on
// the same volume, have no trailer, and be complete: Adopt reads none of its keys. It does not raise revisions. A killed process can run it again.
func Adopt(ctx context.Context, o Options) error {
	done, err := complete(o.DataDir)
	if err != nil || done {
		return err
	}
	if err := o.validate(); err != nil || o.RevisionBump > 0 {
		return fmt.Errorf("adopt database %s: %w", o.SnapshotPath, errors.Join(err, errBump(o)))
	}
	work := o.DataDir + suffix
	database := databaseIn(work)
	switch _, err := os.Stat(o.SnapshotPath); {
	case err == nil:
		if err := errors.Join(ctx.Err(), adopt(o, work)); err != nil {
			return fmt.Errorf("adopt database %s: %w", o.SnapshotPath, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("adopt a database: %w", err)
	default: // an earlier process was killed after it had moved it
		if _, err := os.Stat(database); err != nil {
			return fmt.Errorf("adopt database %s: it does not exist: %w", o.SnapshotPath, err)
		}
	}
	if err := commit(work, o.DataDir); err != nil {
		return fmt.Errorf("adopt database %s: %w", o.SnapshotPath, err)
	}
	return nil
}

func errBump(o Options) error {
	if o.RevisionBump == 0 {
		return nil
	}
	return errors.New("it cannot raise revisions")
}

func databaseIn(dataDir string) string { return filepath.Join(dataDir, "member", "snap", "db") }

// adopt makes the data directory in work. The database comes there last, so a process that finds work without it can delete work.
func adopt(o Options, work string) error {
	empty := o.SnapshotPath + ".empty"
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(empty)); err != nil {
		return fmt.Errorf("remove the files of an earlier process: %w", err)
	}
	if err := writeEmpty(empty); err != nil {
		return fmt.Errorf("create an empty database: %w", err)
	}
	from := o
	from.SnapshotPath, from.Proven = empty, true
	if err := errors.Join(restore(from, work), os.Remove(empty)); err != nil {
		return err
	}
	if err := graft(databaseIn(work), o.SnapshotPath); err != nil {
		return fmt.Errorf("write the new members: %w", err)
	}
	if err := os.Remove(databaseIn(work)); err != nil {
		return err
	}
	// With a second name, another process that does the same at this moment cannot delete the database. The caller deletes the first name.
	err := os.Link(o.SnapshotPath, databaseIn(work))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) { // the file system has no links
		err = os.Rename(o.SnapshotPath, databaseIn(work))
	}
	return err
}

// lockWait is how long the database may be open in another process.
const lockWait = 2 * time.Second

// writeEmpty writes a database of etcd without keys.
func writeEmpty(path string) (err error) {
	defer recovered(&err)
	config := backend.DefaultBackendConfig(PanickingLogger())
	config.Path, config.UnsafeNoFsync = path, true // it is removed again
	b := backend.New(config)
	tx := b.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range []backend.Bucket{schema.Meta, schema.Members, schema.MembersRemoved, schema.Cluster, schema.Alarm} {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.Unlock()
	b.ForceCommit()
	return b.Close()
}

// recovered turns a panic of bbolt or etcd, or a fault on a file that is mapped into memory, into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it panicked: %w", Panicked(p))
	}
}

// graft gives a database the members and the raft index of another one, and removes its alarms, see removeAlarms. It can be repeated.
func graft(from, to string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recovered(&err)
	source, err := bbolt.Open(from, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	existing := func(path string, flag int, mode os.FileMode) (*os.File, error) {
		return os.OpenFile(path, flag&^os.O_CREATE, mode)
	}
	target, err := bbolt.Open(to, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistArrayType, Timeout: lockWait, OpenFile: existing})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return source.View(func(made *bbolt.Tx) error {
		return target.Update(func(tx *bbolt.Tx) error {
			return errors.Join(
				take(made, tx, schema.Members.Name(), true),
				take(made, tx, schema.MembersRemoved.Name(), true),
				take(made, tx, schema.Alarm.Name(), true),
				take(made, tx, schema.Cluster.Name(), false),
				take(made, tx, schema.Meta.Name(), false),
			)
		})
	})
}

// take writes all values of a bucket. With replace, the bucket has no others.
func take(from, to *bbolt.Tx, name []byte, replace bool) error {
	if replace && to.Bucket(name) != nil {
		if err := to.DeleteBucket(name); err != nil {
			return err
		}
	}
	bucket, err := to.CreateBucketIfNotExists(name)
	if err != nil || from.Bucket(name) == nil {
		return err
	}
	return from.Bucket(name).ForEach(func(k, v []byte) error { return bucket.Put(bytes.Clone(k), bytes.Clone(v)) })
}
