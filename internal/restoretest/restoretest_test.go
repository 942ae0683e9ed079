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

// A full disk ends the child in a goroutine of etcd that nothing can recover. Without this, the status advises more memory
// (RestoreTestTooLarge), and no memory is enough.
func TestAFullDiskIsNoLackOfMemory(t *testing.T) {
	for diagnosis, want := range map[string]error{
		"panic: failed to commit tx: write data/member/snap/db: no space left on device\n\ngoroutine 21 [running]:\n": dbfile.ErrDisk,
		"panic: failed to open database: open data/member/snap/db: too many open files\n":                             dbfile.ErrDisk,
		"fatal error: runtime: out of memory: cannot allocate 4194304-byte block\n":                                   dbfile.ErrMemory,
		"runtime: cannot allocate memory\n":                                                                           dbfile.ErrMemory,
		"":                                                                                                            dbfile.ErrMemory, // the kernel has killed it
	} {
		_, err := (Process{Memory: 512 << 20}).read(nil, errors.New("exit status 2"), diagnosis)
		if !errors.Is(err, want) || errors.Is(err, dbfile.ErrDisk) == errors.Is(err, dbfile.ErrMemory) || errors.Is(err, dbfile.ErrRefused) {
			t.Errorf("%q: error %v, want %v", diagnosis, err, want)
		}
	}
}

// Only an answer of the child may condemn a snapshot.
func TestOnlyAnAnswerOfTheChildIsAFaultOfTheSnapshot(t *testing.T) {
	refused := []byte(`{"error": "the database is damaged"}`)
	if _, err := (Process{}).read(refused, nil, ""); !errors.Is(err, dbfile.ErrRefused) || err.Error() != "the database is damaged" {
		t.Errorf("an answer: error %v", err)
	}
	for name, answer := range map[string]string{"a full disk": `{"error": "write", "disk": true}`, "no memory": `{"error": "mmap", "memory": true}`, "no answer": ""} {
		if _, err := (Process{}).read([]byte(answer), nil, ""); err == nil || errors.Is(err, dbfile.ErrRefused) {
			t.Errorf("%s: error %v", name, err)
		}
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
