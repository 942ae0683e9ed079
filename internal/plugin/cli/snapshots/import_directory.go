package snapshots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/internal/datadir"
)

// given is what a user imports.
type given struct {
	// file is the snapshot, and what says what it is.
	file, what string
	// done deletes the file if it was made of a data directory.
	done func()
}

// givenAt returns the snapshot file at a path, or the snapshot of the data directory there.
func givenAt(ctx context.Context, path string) (given, error) {
	info, err := os.Stat(path)
	if err != nil {
		return given{}, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	if !info.IsDir() {
		return given{file: path, what: "Snapshot " + path, done: func() {}}, nil
	}
	directory, err := datadir.Open(path, ".")
	if errors.Is(err, datadir.ErrInUse) {
		return given{}, fmt.Errorf("%w: %s. Stop it, or take a snapshot of it with etcdctl snapshot save", err, path)
	}
	if err != nil {
		return given{}, err
	}
	defer func() { _ = directory.Close() }() // it was only read
	made, err := os.MkdirTemp("", "etcd-import-")
	if err != nil {
		return given{}, fmt.Errorf("make a snapshot of data directory %s: %w", path, err)
	}
	g := given{file: filepath.Join(made, "snapshot.db"), done: func() { _ = os.RemoveAll(made) }}
	result, err := directory.Snapshot(ctx, "", g.file, 0)
	if err != nil {
		g.done()
		return given{}, err
	}
	g.what = fmt.Sprintf("The snapshot of data directory %s, with revision %d and %d entries that only the write-ahead log had", directory.Path(), result.Revision, result.Entries)
	if result.LeftOut > 0 {
		first := ""
		if result.FirstLeftOut > 0 {
			first = fmt.Sprintf(". They may have written revision %d and later ones", result.FirstLeftOut)
		}
		g.what += fmt.Sprintf(" (%d entries at its end are left out, because nothing in it says that a quorum has them%s)", result.LeftOut, first)
	}
	return g, nil
}
