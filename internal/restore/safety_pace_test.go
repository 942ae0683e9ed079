package restore

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// dripping is a member that sends 100 KiB a second.
type dripping struct{}

func (dripping) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(drips{ctx}), 0, nil
}

type drips struct{ ctx context.Context } //nolint:containedctx // as the stream of a member

func (d drips) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Duration(len(p)) * time.Second / (100 << 10)):
		return len(p), nil
	case <-d.ctx.Done():
		return 0, context.Cause(d.ctx)
	}
}

// The member of a tenant sent a large safety snapshot slowly, for all of its 14 minutes and again after that. A large safety snapshot of another
// namespace waited for its space, and that restore continued without it: what its cluster acknowledged since the last backup was lost.
func TestASlowSafetySnapshotEndsWhileThatOfAnotherNamespaceWaits(t *testing.T) {
	const mib = 1 << 20
	for _, crowded := range []bool{true, false} {
		s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 24 * mib})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), safetyTimeout)
			defer cancel()
			if crowded {
				share := takesMost(t, s.forSafety("tenant", func(error) {}))
				defer share.Release()
				go func() { _, _ = s.forSafety("other", func(error) {}).Reserve(ctx, 8*mib) }()
				synctest.Wait()
			}
			measured, end := s.paced(ctx, "tenant")
			defer end(nil)
			stream, _, err := save.Measured{Source: dripping{}}.Snapshot(measured)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = io.Copy(io.Discard, stream)
			if took := time.Since(began); crowded != errors.Is(err, pace.ErrTooSlow) || crowded && took > 2*pace.Window {
				t.Errorf("another one waits: %t, and it ended after %s: %v", crowded, took, err)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// A safety snapshot that never fits is not taken. Without the value to raise, the user reads that only at the next restore, and loses data again.
func TestTheMessageOfASafetySnapshotThatNeverFitsNamesTheValue(t *testing.T) {
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.forSafety("ns", func(error) {}).Reserve(t.Context(), 15<<20)
	if message := adviseSafety(err); !strings.Contains(message, "restoreOperator.spool.sizeLimit") || !strings.Contains(message, "13 MiB") {
		t.Error(message)
	}
}
