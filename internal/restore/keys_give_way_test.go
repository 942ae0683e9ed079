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
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A tenant restores some keys of a large snapshot. After the comparison, the operator reads the snapshot again to write them, and now the store of the tenant
// is slow. That reading did not give way, although it has not written yet: it held two thirds of the volume for hours, and no large safety snapshot of others
// was taken.
func TestAReadingThatIsToWriteKeysGivesWayBeforeItWrites(t *testing.T) {
	const mib = 1 << 20
	bucket := t.TempDir()
	if err := os.WriteFile(filepath.Join(bucket, "one.db"), make([]byte, 8*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 24 * mib})
	if err != nil {
		t.Fatal(err)
	}
	slow, stop := context.WithCancel(t.Context())
	defer stop()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		go func() {
			_, err := s.Prove(slow, Asked{
				Namespace: "tenant", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "one.db"}, Keys: &state.KeysOrder{Write: true},
				By: source.By{}, Progress: func(int64, int64) { // the store sends little
					select {
					case <-time.After(5 * time.Minute):
					case <-slow.Done():
					}
				},
			})
			ended <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), safetyTimeout)
		defer cancel()
		go func() { <-time.After(safetyTimeout); stop() }()
		share, err := s.forSafety("other", func(error) {}).Reserve(ctx, 8*mib)
		if err != nil {
			t.Errorf("a large safety snapshot of another namespace has no space: %v", err)
		}
		share.Release()
		if err := <-ended; !errors.Is(err, turns.ErrOthersWaited) {
			t.Errorf("the reading ended with %v", err)
		}
		<-time.After(time.Hour)
	})
}
