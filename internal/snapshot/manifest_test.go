package snapshot_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// An operator refuses what it would not read again.
func TestAManifestWithALongTextIsNotWritten(t *testing.T) {
	m := snapshot.Manifest{FormatVersion: 1, Size: 1, SHA256: strings.Repeat("0", 64), CreatedAt: time.Now(), EtcdVersion: strings.Repeat("x", bounded.MaxText+1)}
	if _, err := m.Encode(); err == nil || !strings.Contains(err.Error(), "etcdVersion") {
		t.Errorf("error %v", err)
	}
}

func TestManifestEncodingIsUnchanged(t *testing.T) {
	got, err := snapshottest.Manifest(nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the format changed (-want +got):\n%s", diff)
	}
	back, err := snapshot.DecodeManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(snapshottest.Manifest(nil), back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestDecodeManifestChecksFormatAndFields(t *testing.T) {
	good, err := snapshottest.Manifest(nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("ignores fields of a later version", func(t *testing.T) {
		more := bytes.Replace(good, []byte(`"revision"`), []byte(`"shardOf": {"a": [1]}, "revision"`), 1)
		got, err := snapshot.DecodeManifest(more)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(snapshottest.Manifest(nil), got); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
	t.Run("rejects a newer format with any fields", func(t *testing.T) {
		_, err := snapshot.DecodeManifest([]byte(`{"formatVersion": 2, "revision": "forty-two", "size": -1}`))
		if !errors.Is(err, snapshot.ErrNewerFormat) || !strings.Contains(err.Error(), "newer version of the operators") {
			t.Errorf("error %v, want ErrNewerFormat that says what to use", err)
		}
	})
	for name, content := range map[string]string{
		"empty content":                      ``,
		"content that is not JSON":           `snapshot`,
		"JSON of another object":             `{"kind": "Pod"}`,
		"a list":                             `[1]`,
		"null":                               `null`,
		"two manifests":                      string(good) + string(good),
		"half of a manifest":                 string(good[:len(good)/2]),
		"a format version of 0":              strings.Replace(string(good), `"formatVersion": 1`, `"formatVersion": 0`, 1),
		"a size of 0":                        strings.Replace(string(good), `"size": 20512`, `"size": 0`, 1),
		"a negative revision":                strings.Replace(string(good), `"revision": 42`, `"revision": -1`, 1),
		"a short checksum":                   strings.Replace(string(good), `abab`, `ab`, 1),
		"a checksum that is not hexadecimal": strings.Replace(string(good), `abab`, `xyab`, 1),
		"a missing time":                     strings.Replace(string(good), `"createdAt"`, `"created"`, 1),
	} {
		t.Run("rejects "+name, func(t *testing.T) {
			if _, err := snapshot.DecodeManifest([]byte(content)); !errors.Is(err, snapshot.ErrManifest) {
				t.Errorf("error %v, want ErrManifest", err)
			}
		})
	}
}

func TestEncodeRejectsAnInvalidManifest(t *testing.T) {
	for name, change := range map[string]func(*snapshot.Manifest){
		"without a size": func(m *snapshot.Manifest) { m.Size = 0 },
		// Twice the size is negative, and the spool gave out more than it has.
		"with a size that no file has":          func(m *snapshot.Manifest) { m.Size = 1 << 62 },
		"with a negative size when plain":       func(m *snapshot.Manifest) { m.PlainSize = -1 },
		"with a size that no file has if plain": func(m *snapshot.Manifest) { m.PlainSize = 1 << 62 },
		"without a checksum":                    func(m *snapshot.Manifest) { m.SHA256 = "" },
		"without a time":                        func(m *snapshot.Manifest) { m.CreatedAt = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := snapshottest.Manifest(change).Encode(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func FuzzDecodeManifest(f *testing.F) {
	good, err := snapshottest.Manifest(nil).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"formatVersion":2}`))
	encoded, err := snapshottest.Manifest(func(m *snapshot.Manifest) {
		m.Encryption, m.PlainSize, m.PlainSHA256 = codec.Age, 20000, strings.Repeat("cd", 32)
	}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := snapshot.DecodeManifest(content)
		if err != nil {
			if !errors.Is(err, snapshot.ErrManifest) && !errors.Is(err, snapshot.ErrNewerFormat) {
				t.Errorf("error %v is of no kind", err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("was read and cannot be written: %v", err)
		}
		back, err := snapshot.DecodeManifest(again)
		if err != nil {
			t.Fatal(err)
		}
		if !m.CreatedAt.Equal(back.CreatedAt) {
			t.Errorf("time %v came back as %v", m.CreatedAt, back.CreatedAt)
		}
		m.CreatedAt, back.CreatedAt = time.Time{}, time.Time{}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Errorf("came back differently (-first +second):\n%s", diff)
		}
	})
}
