package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// inDirectory is a source in a directory that holds one object.
func inDirectory(t *testing.T, content []byte) v1beta2.RestoreSource {
	t.Helper()
	src := v1beta2.RestoreSource{StorageType: "File", Bucket: t.TempDir(), Key: "one.db"}
	write(t, filepath.Join(src.Bucket, src.Key), content)
	return src
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadTellsWhatIsInASnapshot(t *testing.T) {
	content := dbfiletest.New(t, 1).Put(3, 10).Snapshot()
	sum := sha256.Sum256(content)
	src := inDirectory(t, content)
	want := v1beta2.Snapshot{
		Path: src.Bucket + "/one.db", Revision: 4, Keys: 3, Size: int64(len(content)),
		SHA256: hex.EncodeToString(sum[:]), StorageVersion: "3.7.0",
	}
	dir := t.TempDir()
	check := func(t *testing.T) {
		t.Helper()
		var bytes []int64
		got, err := Read(t.Context(), src, By{}, proof.Alone(dir), func(n, of int64) {
			if of != want.Size {
				t.Errorf("%d bytes of %d", n, of)
			}
			bytes = append(bytes, n)
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Snapshot); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
		if got.Format != "3.7.0" || filepath.Dir(got.File) != dir {
			t.Errorf("format %q, file %s", got.Format, got.File)
		}
		if !slices.IsSorted(bytes) || bytes[len(bytes)-1] != want.Size {
			t.Errorf("progress was %v", bytes)
		}
		if spooled, err := os.ReadFile(got.File); err != nil || string(spooled) != string(content) {
			t.Errorf("the file is not the object: %v", err)
		}
	}
	t.Run("without a manifest", check)

	m := snapshot.Manifest{
		FormatVersion: 1, Cluster: snapshot.Cluster{ID: "00000000000000aa"}, EtcdVersion: "3.7.3", StorageVersion: "3.7.0",
		Revision: 4, Keys: 3, Size: want.Size, SHA256: want.SHA256, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(src.Bucket, snapshot.ManifestKey(src.Key)), text)
	want.EtcdVersion, want.ClusterID, want.CreatedAt = "3.7.3", "00000000000000aa", "2026-01-02T03:04:05Z"
	t.Run("with a manifest", check)
}

func TestAFullSpoolIsSeenByThePlainSizeBeforeAnythingIsRead(t *testing.T) {
	src := inDirectory(t, []byte("a little that grows"))
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: 4, Keys: 3, Size: 19, SHA256: strings.Repeat("ab", 32), CreatedAt: dawn,
		Compression: codec.Zstd, PlainSize: 1 << 50, PlainSHA256: strings.Repeat("cd", 32),
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(src.Bucket, snapshot.ManifestKey(src.Key)), text)
	if _, err := Read(t.Context(), src, By{}, proof.Alone(t.TempDir()), nil); !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), "MiB are free") {
		t.Errorf("error %v, want ErrDisk that says how much is free", err)
	}
}

func TestAnErrorSaysWhetherTheObjectIsToBlame(t *testing.T) {
	content := dbfiletest.New(t, 1).Put(3, 10).Snapshot()
	flipped := append([]byte{}, content...)
	flipped[len(flipped)/2] ^= 1
	good := inDirectory(t, content)
	absent := good
	absent.Key = "absent.db"
	nowhere := good
	nowhere.Bucket += "-absent"
	unknown := good
	unknown.StorageType = "Tape"

	for name, test := range map[string]struct {
		src   v1beta2.RestoreSource
		dir   string
		final bool
		is    error
	}{
		"when a bit is flipped":           {inDirectory(t, flipped), t.TempDir(), true, nil},
		"when its end is missing":         {inDirectory(t, content[:len(content)-4096]), t.TempDir(), true, nil},
		"when it has no trailer":          {inDirectory(t, content[:len(content)-32]), t.TempDir(), true, nil},
		"when it is encrypted for others": {inDirectory(t, []byte("age-encryption.org/v1\n-> X25519 x\n")), t.TempDir(), true, nil},
		"when it is not there":            {absent, t.TempDir(), true, fs.ErrNotExist},
		"and not when the bucket is gone": {nowhere, t.TempDir(), false, objstore.ErrNoBucket},
		"and not when the spool is gone":  {good, filepath.Join(t.TempDir(), "absent"), false, ErrDisk},
		"and not when no store opens":     {unknown, t.TempDir(), false, ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(t.Context(), test.src, By{}, proof.Alone(test.dir), nil)
			if err == nil || Final(err) != test.final || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("final %v: %v", Final(err), err)
			}
			if got != (Proven{}) {
				t.Errorf("something is proven: %+v", got)
			}
			if entries, _ := os.ReadDir(test.dir); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
	if Final(fmt.Errorf("get: %w", context.Canceled)) {
		t.Error("an ended context is final")
	}
}
