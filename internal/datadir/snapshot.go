package datadir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Snapshot writes the snapshot of a data directory to a file that does not exist yet. memory limits the child process that applies the log;
// 0 means no limit. The file has a SHA-256 at its end, as each snapshot has, and must be verified like any other one. If Snapshot
// fails, the file is useless, and the caller deletes it.
func (d *Dir) Snapshot(ctx context.Context, namespace, file string, memory int64) (Result, error) {
	if err := d.copyDatabase(ctx, file); err != nil {
		return Result{}, fmt.Errorf("copy the database of %s: %w", d.Path(), err)
	}
	// etcd's code trusts a database, so it gets only one whose pages were checked.
	if _, err := dbcheck.Inspect(ctx, namespace, file); err != nil {
		if errors.Is(err, dbfile.ErrCorrupt) {
			err = fmt.Errorf("%w: its database is damaged, or an etcd wrote to it while it was copied: %w. Use the directory of another member", ErrRefused, err)
		}
		return Result{}, fmt.Errorf("check the database of %s: %w", d.Path(), err)
	}
	result, err := Process{Memory: memory}.Apply(ctx, Order{Volume: d.volume, Folder: d.folder, File: file})
	if err != nil {
		return Result{}, fmt.Errorf("apply the write-ahead log of %s: %w", d.Path(), err)
	}
	return result, nil
}

// copyDatabase copies the database, and appends the SHA-256.
func (d *Dir) copyDatabase(ctx context.Context, to string) error {
	if d.size == 0 {
		return fmt.Errorf("%w: %s is empty", ErrRefused, databasePath)
	}
	file, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(&ended{ctx, d.database}, d.size))
	if err == nil {
		_, err = file.Write(sum.Sum(nil))
	}
	return errors.Join(err, file.Close())
}

// ended is a file whose reading ends with the context.
type ended struct {
	ctx  context.Context //nolint:containedctx // io.Copy has none
	from io.Reader
}

func (e *ended) Read(p []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
	return e.from.Read(p)
}
