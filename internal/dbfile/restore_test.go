package dbfile_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

func options(t testing.TB, snapshot []byte) dbfile.Options {
	t.Helper()
	return dbfile.Options{
		SnapshotPath:   write(t, snapshot),
		DataDir:        filepath.Join(t.TempDir(), "data"),
		Name:           "seed",
		PeerURLs:       []string{"http://127.0.0.1:2380"},
		InitialCluster: "seed=http://127.0.0.1:2380",
		Token:          "uid-2",
	}
}

func TestRestoreCreatesACompleteDataDirectory(t *testing.T) {
	snapshot := newDatabase(t).Put(300, 50).Delete("key-000001").Snapshot()

	t.Run("with the same keys", func(t *testing.T) {
		o := options(t, snapshot)
		if err := dbfile.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		info := restored(t, o.DataDir)
		if info.Revision != 302 || info.Keys != 299 {
			t.Errorf("revision %d, %d keys, want 302 and 299", info.Revision, info.Keys)
		}
		if len(info.MemberIDs) != 1 || info.MemberIDs[0] == member {
			t.Errorf("members %x, want one other than before", info.MemberIDs)
		}
		wantOnly(t, filepath.Dir(o.DataDir), "data")
	})
	t.Run("with a bumped revision", func(t *testing.T) {
		o := options(t, snapshot)
		o.RevisionBump, o.MarkCompacted = 1_000_000_000, true
		if err := dbfile.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if info := restored(t, o.DataDir); info.Revision != 1_000_000_302 || info.Keys != 299 {
			t.Errorf("revision %d, %d keys, want 1000000302 and 299", info.Revision, info.Keys)
		}
	})
	t.Run("in place of an empty directory, after an earlier try", func(t *testing.T) {
		o := options(t, snapshot)
		if err := errors.Join(os.Mkdir(o.DataDir, 0o700), os.MkdirAll(o.DataDir+".restoring/member/snap", 0o700),
			os.WriteFile(o.DataDir+".restoring/member/snap/db", []byte("half"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := dbfile.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		restored(t, o.DataDir)
		wantOnly(t, filepath.Dir(o.DataDir), "data")
	})
	t.Run("but keeps an existing one, even without the snapshot", func(t *testing.T) {
		o := options(t, snapshot)
		if err := dbfile.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		before := readFile(t, filepath.Join(o.DataDir, "member/snap/db"))
		o.SnapshotPath = "/does/not/exist"
		if err := dbfile.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, readFile(t, filepath.Join(o.DataDir, "member/snap/db"))) {
			t.Error("the database changed")
		}
	})
	t.Run("but keeps a directory with other content", func(t *testing.T) {
		o := options(t, snapshot)
		other := filepath.Join(o.DataDir, "member", "precious")
		if err := errors.Join(os.MkdirAll(filepath.Dir(other), 0o700), os.WriteFile(other, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		wantText(t, dbfile.Restore(t.Context(), o), "neither empty nor complete")
		if got := readFile(t, other); string(got) != "x" {
			t.Errorf("the file there holds %q", got)
		}
	})
	t.Run("but nothing if its context has ended", func(t *testing.T) {
		o := options(t, snapshot)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := dbfile.Restore(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		wantOnly(t, filepath.Dir(o.DataDir))
	})
}

// An alarm outlives a restore otherwise. With CORRUPT, the restored member refuses every request.
func TestRestoreRemovesTheAlarmsOfTheSnapshot(t *testing.T) {
	for name, bump := range map[string]uint64{"with a bumped revision": 1000, "with the same revision": 0} {
		t.Run(name, func(t *testing.T) {
			o := options(t, newDatabase(t).Put(300, 50).Alarm(member, 2).Alarm(7, 1).Alarm(9, 1).Snapshot())
			o.RevisionBump, o.MarkCompacted = bump, bump > 0
			before, err := dbfile.Inspect(o.SnapshotPath)
			if err != nil || before.Alarms != "CORRUPT, NOSPACE" {
				t.Errorf("the snapshot has the alarms %q, %v", before.Alarms, err)
			}
			if err := dbfile.Restore(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if info := restored(t, o.DataDir); info.Alarms != "" || info.Keys != 300 {
				t.Errorf("the restored database has %d keys and the alarms %q", info.Keys, info.Alarms)
			}
		})
	}
}

func TestRestoreRejectsInvalidInput(t *testing.T) {
	good := newDatabase(t).Put(300, 50).Snapshot()
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, bytes.Repeat([]byte{200}, 50))] ^= 1
	headers := bytes.Clone(good)
	for page := 2; (page+1)*4096 < len(headers); page++ { // which of them are in use depends on when etcd commits
		headers[page*4096] ^= 1
	}
	trailer := bytes.Clone(good)
	trailer[len(trailer)-1] ^= 1
	for name, test := range map[string]struct {
		snapshot []byte
		change   func(*dbfile.Options)
		want     string
	}{
		"a flipped bit in a value":           {snapshot: flipped, want: "sha256"},
		"flipped bits in headers of pages":   {snapshot: headers, want: "corrupt"},
		"what makes etcdutl end its process": {snapshot: foreign(t, "meta"), change: func(o *dbfile.Options) { o.RevisionBump, o.MarkCompacted = 1, true }, want: "etcdutl panicked"},
		"a flipped bit in the trailer":       {snapshot: trailer, want: "sha256"},
		"a truncated file":                   {snapshot: good[:len(good)-4096], want: "corrupt"},
		"a file truncated within a page":     {snapshot: good[:len(good)-1000], want: "member/snap/db"},
		"a file from a data directory":       {snapshot: unseal(good), want: "member/snap/db"},
		"an empty file":                      {snapshot: nil, want: "trailer"},
		"a database of something else":       {snapshot: foreign(t, "outer"), want: "not a database of etcd"},
		"half of it under its own trailer":   {snapshot: dbfiletest.Seal(unseal(good)[:len(good)/2/4096*4096]), want: "corrupt"},
		"a name that is not in the cluster":  {snapshot: good, change: func(o *dbfile.Options) { o.Name = "other" }, want: "other"},
		"another peer URL":                   {snapshot: good, change: func(o *dbfile.Options) { o.PeerURLs = []string{"http://127.0.0.1:1"} }, want: "127.0.0.1:1"},
		"an invalid peer URL":                {snapshot: good, change: func(o *dbfile.Options) { o.PeerURLs = []string{"nonsense"} }, want: "nonsense"},
		"a bump without marking compacted":   {snapshot: good, change: func(o *dbfile.Options) { o.RevisionBump = 1 }, want: "go together"},
		"a bump above the maximum":           {snapshot: good, change: func(o *dbfile.Options) { o.RevisionBump, o.MarkCompacted = 1<<63, true }, want: "more than"},
		"no token":                           {snapshot: good, change: func(o *dbfile.Options) { o.Token = "" }, want: "token"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, test.snapshot)
			if test.change != nil {
				test.change(&o)
			}
			err := dbfile.Restore(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(o.DataDir, "member")); err == nil {
				t.Error("there is a member directory")
			}
			if _, err := os.Stat(o.DataDir + ".restoring"); err == nil {
				t.Error("the working directory was left")
			}
		})
	}
}

// restored inspects the database of a data directory as a snapshot.
func restored(t *testing.T, dir string) dbfile.Info {
	t.Helper()
	info, err := inspect(dbfiletest.Seal(readFile(t, filepath.Join(dir, "member", "snap", "db"))))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

// etcd panics if it cannot open the file, and only its log has the cause, which could also be EMFILE or EIO. Without this, a
// good snapshot is condemned for good.
func TestAFileThatCannotBeOpenedIsNoFaultOfTheSnapshot(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "member", "snap", "db"), 0o700), os.MkdirAll(filepath.Join(dir, "member", "wal"), 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err := dbfile.TryRestore(t.Context(), dbfile.Trial{SnapshotPath: "unused", DataDir: dir, Revision: 1, Proven: true})
	if !errors.Is(err, dbfile.ErrDisk) {
		t.Errorf("this condemns the snapshot: %v", err)
	}
}
