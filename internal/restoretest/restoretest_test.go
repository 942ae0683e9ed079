package restoretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		if err := Main(os.Stdin, os.Stdout, os.Exit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// trial is a snapshot with that many keys.
func trial(t *testing.T, keys int) (found dbfile.Trial, want uint32) {
	t.Helper()
	db := dbfiletest.New(t, 1).Put(keys, 10)
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, db.Snapshot(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dbfile.Trial{SnapshotPath: path, DataDir: filepath.Join(t.TempDir(), "data"), Revision: db.Revision()}, db.HashKV(db.Revision())
}

func TestChildReturnsTheHashOfTheRestoredStore(t *testing.T) {
	order, want := trial(t, 1000)
	got, err := Process{Memory: 512 << 20}.Try(t.Context(), order)
	if err != nil || got.Hash != want {
		t.Errorf("%+v, error %v, want the hash %d", got, err, want)
	}
}

func TestOperatorSurvivesARestoreTestThatNeedsTooMuchMemory(t *testing.T) {
	order, _ := trial(t, 100_000)
	if _, err := (Process{Memory: 80 << 20}).Try(t.Context(), order); !errors.Is(err, dbfile.ErrMemory) {
		t.Errorf("error %v", err)
	}
}

func TestErrorsOfTheChildKeepTheirKind(t *testing.T) {
	order, _ := trial(t, 10)
	missing := order
	missing.SnapshotPath = "/does/not/exist"
	if _, err := (Process{}).Try(t.Context(), missing); !errors.Is(err, dbfile.ErrDisk) {
		t.Errorf("a missing file: error %v", err)
	}
	if err := os.WriteFile(order.SnapshotPath, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Process{}).Try(t.Context(), order); err == nil || errors.Is(err, dbfile.ErrDisk) || errors.Is(err, dbfile.ErrMemory) {
		t.Errorf("a damaged file: error %v", err)
	}
}

func TestChildEndsWithItsAttempt(t *testing.T) {
	order, _ := trial(t, 100_000)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("cancelled"))
	defer cancel()
	if _, err := (Process{}).Try(ctx, order); err == nil || err.Error() != "cancelled" {
		t.Errorf("error %v", err)
	}
}
