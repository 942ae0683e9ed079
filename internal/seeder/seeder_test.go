package seeder

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// snapshotOf returns the smallest database that etcd can start from, with one key and this number of revisions.
func snapshotOf(t *testing.T, revisions int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{"meta", "members", "members_removed", "cluster", "key", "lease", "auth"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		for i := range revisions {
			// bytes 8 to 17 of a revision: '_' and the number within the transaction
			revision := append(binary.BigEndian.AppendUint64(nil, uint64(i+2)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
			value := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("key"))
			if err := tx.Bucket([]byte("key")).Put(revision, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return append(content, sum[:]...)
}

// fixture is an object in a file store, a request for it, and a volume.
type fixture struct {
	request seed.Request
	object  string
	volume  string
	log     *bytes.Buffer
	seeder  Seeder
}

func given(t *testing.T) *fixture {
	t.Helper()
	content := snapshotOf(t, 5)
	sum := sha256.Sum256(content)
	bucket, volume := t.TempDir(), t.TempDir()
	f := &fixture{object: filepath.Join(bucket, "one.db"), volume: volume, log: &bytes.Buffer{}}
	if err := os.WriteFile(f.object, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f.request = seed.Request{
		Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "one.db"},
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Revision: 6,
		DataDir: filepath.Join(volume, "data"), Name: "m0", PeerURL: "http://m0:2380", Token: "token", RevisionBump: 1000,
	}
	f.seeder = Seeder{
		CredentialsDir: filepath.Join(t.TempDir(), "credentials"), RetryFor: 10 * time.Millisecond,
		Log: funcr.New(func(_, args string) { fmt.Fprintln(f.log, args) }, funcr.Options{}),
	}
	return f
}

func (f *fixture) run(t *testing.T) error {
	t.Helper()
	return f.seeder.Seed(t.Context(), f.request)
}

// wantVolume checks that the volume holds exactly these entries.
func (f *fixture) wantVolume(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(f.volume)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the volume holds %q, want %q", got, want)
	}
}

func withCredentials(f *fixture) {
	f.request.Source.Secret = "aws"
	_ = os.Mkdir(f.seeder.CredentialsDir, 0o700)
	_ = os.WriteFile(filepath.Join(f.seeder.CredentialsDir, "access-key-id"), []byte("x"), 0o600)
}

// The mount of the Secret is optional, so a Pod starts without it. The kubelet mounts the Secret once it exists.
func TestSeedWaitsForASecretThatDoesNotExist(t *testing.T) {
	f := given(t)
	f.request.Source.Secret = "aws"
	if err := os.Mkdir(f.seeder.CredentialsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := f.seeder.Seed(t.Context(), f.request)
	if err == nil || Code(err) != seed.ExitRetry || !strings.Contains(err.Error(), "Secret aws: it does not exist") {
		t.Errorf("exit code %d, error %v", Code(err), err)
	}
}

func TestSeedLeavesOnlyADataDirectoryOnTheVolume(t *testing.T) {
	for name, prepare := range map[string]func(*fixture){
		"on an empty volume":               func(*fixture) {},
		"without a revision bump":          func(f *fixture) { f.request.RevisionBump = 0 },
		"into an existing empty directory": func(f *fixture) { os.Mkdir(f.request.DataDir, 0o700) },
		"after an earlier run was killed":  func(f *fixture) { os.MkdirAll(filepath.Join(f.volume, stagingName, "data.restoring"), 0o700) },
		"with credentials in a Secret":     withCredentials,
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			prepare(f)
			if err := f.run(t); err != nil {
				t.Fatal(err)
			}
			f.wantVolume(t, "data")
			for _, file := range []string{"member/snap/db", "member/wal"} {
				if _, err := os.Stat(filepath.Join(f.request.DataDir, file)); err != nil {
					t.Error(err)
				}
			}
			if info, err := os.Stat(f.request.DataDir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the data directory has mode %v, %v: etcd wants 0700", info.Mode(), err)
			}
		})
	}
}

func TestSeedKeepsACompleteDataDirectory(t *testing.T) {
	f := given(t)
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(f.request.DataDir, "member", "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.object); err != nil { // Seed must not read it
		t.Fatal(err)
	}
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
}

// A seed that was killed just after it had moved its data into place left the whole snapshot on the volume of the member.
func TestSeedRemovesTheSnapshotOfARunThatWasKilledAtTheEnd(t *testing.T) {
	f := given(t)
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(f.volume, stagingName, "snapshot.db")
	if err := errors.Join(os.Mkdir(filepath.Dir(left), 0o700), os.WriteFile(left, []byte("snapshot"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(left)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the files of the killed run are still on the volume: %v", err)
	}
}

// Defect 12 of coreos/etcd-operator: the bytes were not checked before a restore.
func TestSeedRejectsAnObjectThatIsNotTheVerifiedOne(t *testing.T) {
	rewrite := func(change func([]byte) []byte) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) {
			content, err := os.ReadFile(f.object)
			if err == nil {
				err = os.WriteFile(f.object, change(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, change := range map[string]func(*testing.T, *fixture){
		"with a flipped bit":     rewrite(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
		"truncated":              rewrite(func(b []byte) []byte { return b[:len(b)-4096] }),
		"without a trailer":      rewrite(func(b []byte) []byte { return b[:len(b)-sha256.Size] }),
		"empty":                  rewrite(func([]byte) []byte { return nil }),
		"another valid snapshot": func(t *testing.T, f *fixture) { rewrite(func([]byte) []byte { return snapshotOf(t, 9) })(t, f) },
		"with another SHA-256":   func(_ *testing.T, f *fixture) { f.request.SHA256 = strings.Repeat("00", 32) },
		"with another size":      func(_ *testing.T, f *fixture) { f.request.Size-- },
		"deleted":                func(_ *testing.T, f *fixture) { os.Remove(f.object) },
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			change(t, f)
			err := f.run(t)
			if err == nil || Code(err) != seed.ExitNever {
				t.Errorf("exit code %d: %v", Code(err), err)
			}
			f.wantVolume(t)
		})
	}
}

func TestSeedRetriesTemporaryFaultsAndThenReportsThem(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"the bucket does not exist":  func(f *fixture) { f.request.Source.Bucket += "-absent" },
		"the Secret is not mounted":  func(f *fixture) { f.request.Source.Secret = "aws" },
		"the volume is too small":    func(f *fixture) { f.request.Size = 1 << 60 },
		"the volume is not writable": func(f *fixture) { f.request.DataDir = "/proc/etcd/data" },
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			change(f)
			if err := f.run(t); err == nil || Code(err) != seed.ExitRetry {
				t.Errorf("exit code %d: %v", Code(err), err)
			}
			f.wantVolume(t)
		})
	}
	t.Run("the store comes back", func(t *testing.T) {
		f := given(t)
		f.seeder.RetryFor = time.Minute
		away := f.request.Source.Bucket + "-away"
		if err := os.Rename(f.request.Source.Bucket, away); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond, func() { _ = os.Rename(away, f.request.Source.Bucket) })
		if err := f.run(t); err != nil {
			t.Fatal(err)
		}
		f.wantVolume(t, "data")
	})
}

func TestSeedChecksFreeSpaceBeforeItFetches(t *testing.T) {
	f := given(t)
	f.request.Size = 1 << 50
	if err := f.run(t); err == nil || !strings.Contains(err.Error(), "needs 2147483712 MiB") {
		t.Errorf("error %v", err)
	}
	if strings.Contains(f.log.String(), "fetching") {
		t.Error("the seed started to fetch")
	}
}

func TestLongDownloadLogsItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := Seeder{Log: funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{})}
		report := s.fetching()
		for i := range 25 {
			<-time.After(time.Second)
			report(int64(i), 100)
		}
		if got := strings.Count(log.String(), `"of"=100`); got != 2 {
			t.Errorf("%d lines in 25 s:\n%s", got, &log)
		}
	})
}

func TestSeedLogsNoCredentials(t *testing.T) {
	f := given(t)
	f.request.Source.Secret = "aws"
	if err := os.Mkdir(f.seeder.CredentialsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.seeder.CredentialsDir, "secret-access-key"), []byte("very-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := f.run(t)
	if strings.Contains(f.log.String()+fmt.Sprint(err), "very-secret") {
		t.Errorf("error %v, log:\n%s", err, f.log)
	}
}

func TestCredentialsAreReadFromTheMountedSecret(t *testing.T) {
	dir := t.TempDir()
	// the layout of a Secret that a kubelet mounts
	inner := filepath.Join(dir, "..2026_01_01")
	err := errors.Join(
		os.Mkdir(inner, 0o700),
		os.WriteFile(filepath.Join(inner, "access-key-id"), []byte("id\n"), 0o600),
		os.Symlink("..2026_01_01", filepath.Join(dir, "..data")),
		os.Symlink("..data/access-key-id", filepath.Join(dir, "access-key-id")),
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := mounted(dir, "aws")
	if err != nil || len(got) != 1 || string(got["access-key-id"]) != "id\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := mounted(dir, ""); got != nil || err != nil {
		t.Errorf("without a Secret: %q, %v", got, err)
	}
}

func TestFailureIsOneLineInTheTerminationLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(path, []byte("the message of the previous run, which was longer than this one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	report(errors.New("first\nsecond "+strings.Repeat("ü", 5000)), &stderr, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := string(content)
	if !strings.HasPrefix(line, "first second") || strings.Count(line, "\n") != 1 || len(line) > 4096 || strings.ContainsRune(line, '\uFFFD') {
		t.Errorf("got %q", line)
	}
	if stderr.String() != line {
		t.Error("standard error and the termination log differ")
	}
	missing := filepath.Join(t.TempDir(), "absent")
	report(errors.New("x"), &stderr, missing)
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("report created a termination log: %v", err)
	}
}

func TestInvalidArgumentsFailPermanently(t *testing.T) {
	if code := Main(t.Context(), []string{seed.Command, "--bucket=b"}, ""); code != seed.ExitNever {
		t.Errorf("exit code %d", code)
	}
}

// A node booted again and had wiped its disk. The kubelet ran the init container of the seed again, and the seed, which votes by now, would
// have forgotten all writes since the restore.
func TestASeedThatHasStartedBeforeIsNotRestoredAgain(t *testing.T) {
	f := given(t)
	f.seeder.DataRequired = true
	err := f.seeder.Seed(t.Context(), f.request)
	if Code(err) != seed.ExitNever || !strings.Contains(err.Error(), "has started before") {
		t.Fatalf("an empty volume: %v", err)
	}
	f.seeder.DataRequired = false
	if err := f.seeder.Seed(t.Context(), f.request); err != nil {
		t.Fatal(err)
	}
	f.seeder.DataRequired = true
	if err := f.seeder.Seed(t.Context(), f.request); err != nil {
		t.Errorf("with its data: %v", err)
	}
}
