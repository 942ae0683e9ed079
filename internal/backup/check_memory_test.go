package backup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// The program of the child links all of the operator, whose start uses memory, too.
func TestTheCheckOfASmallSnapshotFitsIntoTheProgramOfTheOperator(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, dbfiletest.New(t, 1).Put(15_000, 400).Snapshot(), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := (dbcheck.Process{Memory: 64 << 20}).Inspect(t.Context(), path); err != nil || info.Keys != 15_000 {
		t.Errorf("%d keys, error %v", info.Keys, err)
	}
}
