package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func TestARefusedReplayIsNoFaultOfTheDisk(t *testing.T) {
	if refutes(snapshot.ErrDisk) || refutes(nil) || !refutes(errDiverged) || !refutes(&archive.RevisionError{Revision: 3, Err: archive.ErrCorrupt}) {
		t.Error("a full disk must not be told as a damaged archive, and a damaged archive must be told")
	}
}

// A replay wrote more than its proof had reserved, into the volume of all namespaces.
func TestAReplayThatOutgrowsTheSpoolEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.db")
	j := &Tester{Replay: func(ctx context.Context, o replay.Order) (replay.Result, error) {
		for size := int64(1); size < 100 && ctx.Err() == nil; size++ {
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Progress(size)
		}
		return replay.Result{}, ctx.Err()
	}}
	most := int64(0)
	grow := func(size int64) error {
		if most = size; size > 10 {
			return spool.ErrFull
		}
		return nil
	}
	order := replay.Order{Options: replay.Options{Path: path}, Progress: func(int64) {}}
	if err := j.replayGrowing(t.Context(), order, grow); !errors.Is(err, spool.ErrFull) || most != 11 {
		t.Errorf("error %v after %d bytes", err, most)
	}
}
