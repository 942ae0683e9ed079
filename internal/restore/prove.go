package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Asked is a source to prove.
type Asked struct {
	Source v1beta2.RestoreSource
	Choice source.Choice
	// Secret is nil if the operator's own identity is used.
	Secret   map[string][]byte
	Progress source.Progress
}

// Found is the source that was read and its contents.
type Found struct {
	// Source names one object.
	Source v1beta2.RestoreSource
	// ChosenBecause explains why Source was chosen. It is empty if the spec names the object.
	ChosenBecause string
	Proven        source.Proven
}

// Prove finds a source and reads it once and completely.
type Prove func(ctx context.Context, asked Asked) (Found, error)

// spoolName is the directory below the spool directory that only this operator uses.
const spoolName = "etcd-restore-operator"

func spoolOf(dir string) string { return filepath.Join(dir, spoolName) }

// InSpool returns a Prove that stores each snapshot as a file in a directory below dir, and deletes it when it is read.
// InSpool deletes the files that an earlier process has left there.
func InSpool(dir string) (Prove, error) {
	spool := spoolOf(dir)
	if err := errors.Join(os.RemoveAll(spool), os.Mkdir(spool, 0o700)); err != nil {
		return nil, fmt.Errorf("create the spool directory %s (--spool-dir): %w", spool, err)
	}
	return func(ctx context.Context, asked Asked) (Found, error) { return prove(ctx, asked, spool) }, nil
}

func prove(ctx context.Context, asked Asked, spool string) (Found, error) {
	exact, why, err := source.Find(ctx, asked.Source, asked.Secret, asked.Choice)
	if err != nil {
		return Found{}, err
	}
	proven, err := source.Read(ctx, exact, asked.Secret, spool, asked.Progress)
	if err != nil {
		return Found{}, err
	}
	if err := os.Remove(proven.File); err != nil {
		return Found{}, fmt.Errorf("remove the spooled snapshot: %w: %w", source.ErrDisk, err)
	}
	return Found{Source: exact, ChosenBecause: why, Proven: proven}, nil
}
