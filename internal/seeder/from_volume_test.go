package seeder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// givenVolume has a volume with the data directory of a member of etcd 3.7 in the folder data. It has 20 keys.
func givenVolume(t *testing.T) *fixture {
	t.Helper()
	f := given(t)
	f.seeder.VolumeDir = t.TempDir()
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, dbfiletest.New(t, 1).Put(20, 10).Snapshot(), 0o600); err != nil {
		t.Fatal(err)
	}
	const member, peer = "m0", "http://m0.invalid:2380"
	err := dbfile.Restore(t.Context(), dbfile.Options{
		SnapshotPath: file, DataDir: filepath.Join(f.seeder.VolumeDir, "data"), Name: member, PeerURLs: []string{peer}, InitialCluster: member + "=" + peer, Token: "token", Proven: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.request.Source, f.request.SHA256, f.request.Revision = v1beta2.RestoreSource{}, "", 0
	f.request.Volume = seed.Volume{Claim: "kept", EtcdVersion: "3.7.0"}
	return f
}

// A user whose cluster is lost names the volume of a member, and gets a member with its data.
func TestTheDataDirectoryOnAVolumeIsRestored(t *testing.T) {
	for _, path := range []string{"", "data", "./data/"} {
		f := givenVolume(t)
		f.request.Volume.Path, f.request.RevisionBump = path, 0
		if err := f.run(t); err != nil {
			t.Fatalf("path %q: %v\n%s", path, err, f.log)
		}
		f.wantVolume(t, ".etcd-read", "data")
		if _, err := dbfile.HashKV(t.Context(), f.request.DataDir, 21, 0); err != nil {
			t.Errorf("path %q: writes are missing: %v", path, err)
		}
		if hash, err := dbfile.HashKV(t.Context(), f.request.DataDir, 22, 0); err == nil {
			t.Errorf("path %q: there are more writes than on the volume: %+v", path, hash)
		}
		if err := f.run(t); err != nil { // after it was killed
			t.Error(err)
		}
		if got, want := VolumeRead(f.request.DataDir), `{"volume":{"revision":21}}`; got != want {
			t.Errorf("path %q: the seed reports %s, want %s", path, got, want)
		}
	}
}

// What can never work must end the restore, and not be tried again until somebody looks at it.
func TestAVolumeThatCannotBeRestoredEndsTheSeed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *fixture)
		code   int
		says   string
	}{
		"no data directory": {func(_ *testing.T, f *fixture) { f.request.Volume.Path = "data/member" }, seed.ExitNever, "member/snap/db"},
		"a path that leads out": {func(t *testing.T, f *fixture) {
			_ = os.Symlink("/", filepath.Join(f.seeder.VolumeDir, "out"))
			f.request.Volume.Path = "out"
		}, seed.ExitRetry, "escapes"},
		"an etcd that is too old": {func(_ *testing.T, f *fixture) { f.request.Volume.EtcdVersion = "3.6.16" }, seed.ExitNever, "Raise spec.version"},
		"an etcd that runs on it": {func(t *testing.T, f *fixture) { f.open(t) }, seed.ExitRetry, "an etcd that runs"},
		"two members":             {func(t *testing.T, f *fixture) { f.double(t) }, seed.ExitNever, "several members: data, data-2"},
		"without a write-ahead log": {func(_ *testing.T, f *fixture) {
			_ = os.RemoveAll(filepath.Join(f.seeder.VolumeDir, "data", "member", "wal"))
		}, seed.ExitNever, "no write-ahead log"},
	} {
		t.Run(name, func(t *testing.T) {
			f := givenVolume(t)
			c.change(t, f)
			err := f.run(t)
			if err == nil || Code(err) != c.code || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "PersistentVolumeClaim kept") {
				t.Errorf("code %d: %v", Code(err), err)
			}
			f.wantVolume(t)
		})
	}
}

// If the container reaches its limit, the kernel ends all of it, and the user reads no reason and no field to change.
func TestTheLogIsAppliedWithLessMemoryThanTheContainerHas(t *testing.T) {
	limit := filepath.Join(t.TempDir(), "memory.max")
	for content, want := range map[string]int64{"1073741824\n": 768 << 20, "134217728\n": 192 << 20, "max\n": 0, "9223372036854771712\n": 0} {
		if err := os.WriteFile(limit, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := shareOf([]string{filepath.Join(t.TempDir(), "missing"), limit}); got != want {
			t.Errorf("%q: %d, want %d", content, got, want)
		}
	}
	if got := shareOf([]string{limit + "-missing"}); got != 0 {
		t.Errorf("without a cgroup: %d", got)
	}
}

// open has the database open as an etcd has it.
func (f *fixture) open(t *testing.T) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(f.seeder.VolumeDir, "data", "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
}

// double puts the directory of a second member beside the first one.
func (f *fixture) double(t *testing.T) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(f.seeder.VolumeDir, "data-2"), os.DirFS(filepath.Join(f.seeder.VolumeDir, "data"))); err != nil {
		t.Fatal(err)
	}
}
