package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// dataDirectory makes the directory of a member with 98 keys that is stopped.
func dataDirectory(t *testing.T) string {
	t.Helper()
	file, _ := snapshotFile(t)
	path := filepath.Join(t.TempDir(), "etcd")
	const member, peer = "m0", "http://m0.invalid:2380"
	err := dbfile.Restore(t.Context(), dbfile.Options{SnapshotPath: file, DataDir: path, Name: member, PeerURLs: []string{peer}, InitialCluster: member + "=" + peer, Token: "token", Proven: true})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A user whose cluster is lost has the disk of one member. Its database file alone lacks the last writes, and is no snapshot.
func TestImportMakesASnapshotOfADataDirectory(t *testing.T) {
	s := shopOf(t, kitOf(t, example(), hourly(), credentials()))
	t.Setenv("TMPDIR", t.TempDir())
	path := s.imported(t, dataDirectory(t))
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the copy of the database is left: %v, error %v", left, err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if out := s.must(t, "download", "example", "--backup", "hourly", "--snapshot", path, "--file", to); !strings.Contains(out, "98 keys") {
		t.Error(out)
	}
	if info, err := dbfile.Inspect(to); err != nil || info.Keys != 98 || info.Revision != 99 {
		t.Errorf("%+v, error %v", info, err)
	}
}

// The question is the last place where a user sees that it is the wrong directory.
func TestImportAsksWithWhatTheDirectoryHas(t *testing.T) {
	s := shopOf(t, kitOf(t, example(), hourly(), credentials()))
	path := dataDirectory(t)
	_, err := s.run(t, "import", "example", path)
	if err == nil || !strings.Contains(err.Error(), "The snapshot of data directory "+path+", with revision 99 and 0 entries that only the write-ahead log had") || len(s.objects(t)) > 0 {
		t.Errorf("%v, %q", err, s.objects(t))
	}
}

// A snapshot of a directory to which an etcd writes, or of which files are missing, may lack acknowledged writes.
func TestImportWritesNothingOfADirectoryThatMayLackWrites(t *testing.T) {
	running := dataDirectory(t)
	db, err := bbolt.Open(filepath.Join(running, "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	without := dataDirectory(t)
	if err := os.RemoveAll(filepath.Join(without, "member", "wal")); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{running: "Stop it, or take a snapshot of it", without: "no write-ahead log", t.TempDir(): "member/snap/db"} {
		s := shopOf(t, kitOf(t, example(), hourly(), credentials()))
		if _, err := s.run(t, "import", "example", path, "--yes"); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "Nothing was written") || len(s.objects(t)) > 0 {
			t.Errorf("want %q: %v, %q", says, err, s.objects(t))
		}
	}
}
