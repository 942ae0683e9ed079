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

// Prove reads a source once, whole, and says what is in it. secret is nil for the ambient identity.
type Prove func(ctx context.Context, src v1beta2.RestoreSource, secret map[string][]byte) (source.Proven, error)

// spoolName is the directory below the spool directory that is the operator's alone.
const spoolName = "etcd-restore-operator"

// InSpool proves sources by files in a directory below dir, which are removed at once. What an earlier process
// left there is removed now.
func InSpool(dir string) (Prove, error) {
	spool := filepath.Join(dir, spoolName)
	if err := errors.Join(os.RemoveAll(spool), os.Mkdir(spool, 0o700)); err != nil {
		return nil, fmt.Errorf("make a spool for snapshots (--spool-dir): %w", err)
	}
	return func(ctx context.Context, src v1beta2.RestoreSource, secret map[string][]byte) (source.Proven, error) {
		proven, err := source.Read(ctx, src, secret, spool, nil)
		if err != nil {
			return source.Proven{}, err
		}
		if err := os.Remove(proven.File); err != nil {
			return source.Proven{}, fmt.Errorf("remove the spooled snapshot: %w: %w", source.ErrDisk, err)
		}
		return proven, nil
	}, nil
}
