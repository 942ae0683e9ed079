package snapshot

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/codec"
)

func manifest(change func(*Manifest)) Manifest {
	m := Manifest{
		FormatVersion: 1,
		Cluster:       Cluster{Namespace: "ns", Name: "example", UID: "3b1f", ID: "0000000000000001"},
		EtcdVersion:   "3.6.16", StorageVersion: "3.6.0",
		Revision: 42, Keys: 7, Size: 20512, SHA256: strings.Repeat("ab", 32), Hash: "0badcafe",
		CreatedAt: noon, Attempt: "9c2e", Tool: "etcd-operator v0.1.0",
	}
	if change != nil {
		change(&m)
	}
	return m
}

func TestManifestEncodingIsUnchanged(t *testing.T) {
	got, err := manifest(nil).Encode()
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
	back, err := DecodeManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest(nil), back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestDecodeManifestChecksFormatAndFields(t *testing.T) {
	good, err := manifest(nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("ignores fields of a later version", func(t *testing.T) {
		more := bytes.Replace(good, []byte(`"revision"`), []byte(`"shardOf": {"a": [1]}, "revision"`), 1)
		got, err := DecodeManifest(more)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(manifest(nil), got); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
	t.Run("rejects a newer format with any fields", func(t *testing.T) {
		_, err := DecodeManifest([]byte(`{"formatVersion": 2, "revision": "forty-two", "size": -1}`))
		if !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), "newer version of the operators") {
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
			if _, err := DecodeManifest([]byte(content)); !errors.Is(err, ErrManifest) {
				t.Errorf("error %v, want ErrManifest", err)
			}
		})
	}
}

func TestEncodeRejectsAnInvalidManifest(t *testing.T) {
	for name, change := range map[string]func(*Manifest){
		"without a size": func(m *Manifest) { m.Size = 0 },
		// Twice the size is negative, and the spool gave out more than it has.
		"with a size that no file has":          func(m *Manifest) { m.Size = 1 << 62 },
		"with a negative size when plain":       func(m *Manifest) { m.PlainSize = -1 },
		"with a size that no file has if plain": func(m *Manifest) { m.PlainSize = 1 << 62 },
		"without a checksum":                    func(m *Manifest) { m.SHA256 = "" },
		"without a time":                        func(m *Manifest) { m.CreatedAt = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := manifest(change).Encode(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func FuzzDecodeManifest(f *testing.F) {
	good, err := manifest(nil).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"formatVersion":2}`))
	encoded, err := manifest(func(m *Manifest) {
		m.Encryption, m.PlainSize, m.PlainSHA256 = codec.Age, 20000, strings.Repeat("cd", 32)
	}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := DecodeManifest(content)
		if err != nil {
			if !errors.Is(err, ErrManifest) && !errors.Is(err, ErrNewerFormat) {
				t.Errorf("error %v is of no kind", err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("was read and cannot be written: %v", err)
		}
		back, err := DecodeManifest(again)
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
