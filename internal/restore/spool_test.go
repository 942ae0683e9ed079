package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Two large restores and their safety snapshots fill the emptyDir of the operator. Without a budget, the kubelet evicts the
// Pod, and every restore starts from the beginning.
func TestReadingsAndSafetySnapshotsShareOneBudget(t *testing.T) {
	const mib = 1 << 20
	bucket := t.TempDir()
	content := dbfiletest.New(t, 1).Put(10, 10).Snapshot()
	if err := os.WriteFile(filepath.Join(bucket, "one.db"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := Asked{Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "one.db"}}
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 16 * mib})
	if err != nil {
		t.Fatal(err)
	}
	others, err := s.Of("ns").Reserve(t.Context(), s.Largest())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Prove(ctx, asked); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait for space: error %v", err)
	}
	others.Release()
	if found, err := s.Prove(t.Context(), asked); err != nil || found.Proven.Snapshot.Keys != 10 {
		t.Errorf("%+v, error %v", found, err)
	}
	if used, _, _ := s.Usage(); used != 0 {
		t.Errorf("%d bytes remain reserved", used)
	}
	tiny, err := OpenSpool(t.TempDir(), spool.Options{Limit: 1024})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tiny.Prove(t.Context(), asked); err == nil {
		t.Fatal("a snapshot that is larger than the spool volume is read")
	}
	if f := classify(err, asked.Source); f.Reason != v1beta2.ReasonSpoolTooSmall || f.Final {
		t.Errorf("%+v", f)
	}
}

// A safety snapshot must be complete within 15 minutes, and a proof may take an hour.
func TestTheSafetySnapshotWaitsForNoLargeProof(t *testing.T) {
	const mib = 1 << 20
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 16 * mib})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for range 2 { // the second one waits
		share, err := s.Of("other").Reserve(ctx, 8*mib)
		if err == nil {
			defer share.Release()
		}
	}
	share, err := s.forSafety("ns", func(error) {}).Reserve(t.Context(), 3*mib)
	if err != nil {
		t.Fatal(err)
	}
	share.Release()
}

// Without this, a store that sends a byte now and then occupies a worker forever.
func TestAReadingThatTakesTooLongEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := limitReading(t.Context(), nil)
		defer limit.stop()
		limit.begin(3600 * readRate)
		begun := time.Now()
		<-ctx.Done()
		if took := time.Since(begun); took != 2*time.Hour || !errors.Is(context.Cause(ctx), errTooSlow) {
			t.Errorf("it ended after %s: %v", took, context.Cause(ctx))
		}
	})
	if f := classify(errTooSlow, theSource); f.Reason != v1beta2.ReasonDeadlineExceeded || f.Final {
		t.Errorf("%+v", f)
	}
}
