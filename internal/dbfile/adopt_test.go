package dbfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// contents returns all values of a database, and nil if it cannot be read.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string]string{}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			all[string(name)] = "a bucket"
			return b.ForEach(func(k, v []byte) error {
				all[fmt.Sprintf("%s/%q", name, k)] = string(v)
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// logged returns the entries of the raft log.
func logged(t *testing.T, dataDir string) (all []string) {
	t.Helper()
	index := uint64(1)
	w, err := wal.OpenForRead(zap.NewNop(), filepath.Join(dataDir, "member", "wal"), &walpb.Snapshot{Index: &index, Term: &index})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	metadata, state, entries, err := w.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return []string{fmt.Sprintf("%x", metadata), state.String(), fmt.Sprint(entries)}
}

// adopted is a standby's database that is to be adopted: without a trailer.
func adopted(t *testing.T) (snapshot []byte, o dbfile.Options) {
	t.Helper()
	snapshot = newDatabase(t).Put(300, 50).Delete("key-000001").Alarm(member, 2).Alarm(7, 1).Snapshot()
	return snapshot, options(t, unseal(snapshot))
}

// A database that was moved must be the one that etcdutl would have made of it. Otherwise the promoted standby is another cluster than a restored one.
func TestAdoptMakesWhatRestoreMakes(t *testing.T) {
	snapshot, o := adopted(t)
	copied := options(t, snapshot)
	if err := errors.Join(dbfile.Restore(t.Context(), copied), dbfile.Adopt(t.Context(), o)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, databaseOf(copied)), contents(t, databaseOf(o))); diff != "" {
		t.Errorf("-restored +adopted:\n%s", diff)
	}
	if diff := cmp.Diff(logged(t, copied.DataDir), logged(t, o.DataDir)); diff != "" {
		t.Errorf("-restored +adopted:\n%s", diff)
	}
	names := func(dataDir string) (all []string) {
		_ = filepath.WalkDir(dataDir, func(path string, _ fs.DirEntry, _ error) error {
			all = append(all, path[len(dataDir):])
			return nil
		})
		return all
	}
	if diff := cmp.Diff(names(copied.DataDir), names(o.DataDir)); diff != "" {
		t.Errorf("-restored +adopted:\n%s", diff)
	}
	if info := restored(t, o.DataDir); info.Revision != 302 || info.Keys != 299 || info.Alarms != "" {
		t.Errorf("%+v", info)
	}
	wantOnly(t, filepath.Dir(o.SnapshotPath), "snapshot.db")
	wantOnly(t, filepath.Dir(o.DataDir), "data")
}

// On a volume without a lock, for example by NFS, two Pods may do this at the same time. The second one deleted the database, and made an empty one.
func TestTwoProcessesDoNotDeleteTheDatabaseThatTheyAdopt(t *testing.T) {
	_, o := adopted(t)
	if err := errors.Join(dbfile.AdoptStep(o), dbfile.AdoptStep(o), dbfile.Adopt(t.Context(), o)); err != nil {
		t.Fatal(err)
	}
	if info := restored(t, o.DataDir); info.Revision != 302 || info.Keys != 299 {
		t.Errorf("%+v", info)
	}
	_, o = adopted(t)
	if err := os.Remove(o.SnapshotPath); err != nil {
		t.Fatal(err)
	}
	if err := dbfile.AdoptStep(o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the database, it makes one: %v", err)
	}
}

func databaseOf(o dbfile.Options) string { return filepath.Join(o.DataDir, "member", "snap", "db") }

// The process is killed between two of its steps. The only copy of the database was lost, or a data directory without it was taken for a complete one.
func TestAdoptContinuesAfterItWasKilled(t *testing.T) {
	for name, killed := range map[string]func(t *testing.T, o dbfile.Options){
		"before its first step": func(*testing.T, dbfile.Options) {},
		"while it made the directory": func(t *testing.T, o dbfile.Options) {
			err := errors.Join(os.MkdirAll(o.DataDir+".restoring/member/snap", 0o700), os.WriteFile(o.DataDir+".restoring/member/snap/db", []byte("half"), 0o600),
				os.WriteFile(o.SnapshotPath+".empty", []byte("half"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
		},
		"after it had moved the database, where there are no links": func(t *testing.T, o dbfile.Options) {
			if err := errors.Join(dbfile.Adopt(t.Context(), o), os.Rename(o.DataDir, o.DataDir+".restoring"), os.Remove(o.SnapshotPath)); err != nil {
				t.Fatal(err)
			}
		},
		"after its last step": func(t *testing.T, o dbfile.Options) {
			if err := dbfile.Adopt(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := adopted(t)
			killed(t, o)
			if err := dbfile.Adopt(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if info := restored(t, o.DataDir); info.Revision != 302 || info.Keys != 299 {
				t.Errorf("%+v", info)
			}
			wantOnly(t, filepath.Dir(o.DataDir), "data")
		})
	}
}

// Without its database, or with revisions that must be raised, a cluster would start empty or with a second history.
func TestAdoptRefusesWhatItCannotDo(t *testing.T) {
	_, o := adopted(t)
	o.RevisionBump, o.MarkCompacted = 5, true
	wantText(t, dbfile.Adopt(t.Context(), o), "raise revisions")
	_, o = adopted(t)
	if err := os.Remove(o.SnapshotPath); err != nil {
		t.Fatal(err)
	}
	if err := dbfile.Adopt(t.Context(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a database: %v", err)
	}
	wantOnly(t, filepath.Dir(o.DataDir))
}
