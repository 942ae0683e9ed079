package save_test

import (
	"crypto/sha256"
	"io"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestALargeObjectIsComparedInPieces(t *testing.T) {
	const size = 640 << 20
	heaptest.Bound(t, 16, func() {
		body := &save.CheckedBody{Body: io.LimitReader(snapshottest.Zeros{}, size), Sum: sha256.New(), Manifest: snapshot.Manifest{Size: size}}
		if n, _ := io.Copy(io.Discard, body); n < size*9/10 {
			t.Errorf("a copy read %d bytes", n)
		}
	})
}
