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
	// Secret is nil for the ambient identity.
	Secret   map[string][]byte
	Progress source.Progress
}

// Found is what was read: the exact Source, Why it was chosen where it had to be, and what was proven of it.
type Found struct {
	Source v1beta2.RestoreSource
	Why    string
	Proven source.Proven
}

// Prove finds a source and reads it once, whole.
type Prove func(ctx context.Context, asked Asked) (Found, error)

// spoolName is the directory below the spool directory that is the operator's alone.
const spoolName = "etcd-restore-operator"

// InSpool proves sources by files in a directory below dir, which are removed at once. What an earlier process
// left there is removed now.
func InSpool(dir string) (Prove, error) {
	spool := filepath.Join(dir, spoolName)
	if err := errors.Join(os.RemoveAll(spool), os.Mkdir(spool, 0o700)); err != nil {
		return nil, fmt.Errorf("make a spool for snapshots (--spool-dir): %w", err)
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
	return Found{Source: exact, Why: why, Proven: proven}, nil
}
