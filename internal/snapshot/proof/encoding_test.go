package proof_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestEncodedSnapshotsAreFetchedUnchanged(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	plain := sha256.Sum256(content)
	alice, aliceKey := snapshottest.KeyPair(t)
	bob, bobKey := snapshottest.KeyPair(t)
	for name, encoder := range map[string]codec.Encoder{
		"compressed":               {Compression: codec.Zstd},
		"encrypted":                {Recipients: []string{alice, bob}},
		"compressed and encrypted": {Compression: codec.Zstd, Recipients: []string{alice, bob}},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, func(r *save.Request) { r.Encoder = encoder }))
			if err != nil {
				t.Fatal(err)
			}
			object, m := store.Content(snapshottest.Key), saved.Manifest
			if sum := sha256.Sum256(object); m.SHA256 != hex.EncodeToString(sum[:]) || m.Size != int64(len(object)) {
				t.Errorf("the manifest does not describe the object: %+v", m)
			}
			if m.PlainSHA256 != hex.EncodeToString(plain[:]) || m.PlainSize != int64(len(content)) || m.Encoding() != encoder.Encoding() {
				t.Errorf("the manifest does not describe the snapshot: %+v", m)
			}
			if bytes.Contains(object, content[:4096]) || encoder.Compression != "" && len(object) > len(content)/2 {
				t.Errorf("the object has %d bytes of %d, or is not encoded", len(object), len(content))
			}
			if got := byOtherTools(t, object, bobKey); !bytes.Equal(got, content) {
				t.Error("age and zstd decode it differently")
			}
			wantFetched(t, store, content, append(bobKey, aliceKey...), m)
			store.Remove(snapshottest.Key + ".json")
			wantFetched(t, store, content, aliceKey, m)
		})
	}
}

func wantFetched(t *testing.T, store objstore.Store, content, identities []byte, m snapshot.Manifest) {
	t.Helper()
	fetched, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(t.TempDir()), identities, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fetched.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) || fetched.SHA256 != m.SHA256 || fetched.Size != m.Size || fetched.Encoding != m.Encoding() || fetched.Info.Revision != m.Revision {
		t.Errorf("fetched %d bytes, %+v, want %d and %+v", len(got), fetched, len(content), m)
	}
}

// byOtherTools decodes as the tools age and zstd do.
func byOtherTools(t *testing.T, object, identities []byte) []byte {
	t.Helper()
	var body io.Reader = bytes.NewReader(object)
	if bytes.HasPrefix(object, []byte(snapshottest.AgeStart)) {
		parsed, err := age.ParseIdentities(bytes.NewReader(identities))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = age.Decrypt(body, parsed...); err != nil {
			t.Fatal(err)
		}
	}
	content, err := io.ReadAll(body)
	if err == nil && bytes.HasPrefix(content, []byte(snapshottest.ZstdStart)) {
		var reader *zstd.Decoder
		if reader, err = zstd.NewReader(bytes.NewReader(content)); err == nil {
			content, err = io.ReadAll(reader)
			reader.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFetchRejectsDamagedEncodedObjects(t *testing.T) {
	alice, aliceKey := snapshottest.KeyPair(t)
	_, mallory := snapshottest.KeyPair(t)
	content := snapshottest.Database(t, snapshottest.Member, 300)
	cut := func(b []byte) []byte { return b[:len(b)-100] }
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	more := func(b []byte) []byte { return append(b, b...) }
	for name, test := range map[string]struct {
		encoder    codec.Encoder
		identities []byte
		change     func([]byte) []byte
		headless   bool
		want       error
	}{
		"no identity":                                      {encoder: codec.Encoder{Recipients: []string{alice}}, want: codec.ErrIdentity},
		"the identity of another recipient":                {encoder: codec.Encoder{Recipients: []string{alice}}, identities: mallory, want: codec.ErrIdentity},
		"an invalid identity":                              {encoder: codec.Encoder{Recipients: []string{alice}}, identities: []byte("hunter2"), want: codec.ErrIdentity},
		"a truncated ciphertext":                           {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: cut, want: dbfile.ErrCorrupt},
		"a flipped bit in a ciphertext":                    {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: flip, want: dbfile.ErrCorrupt},
		"a flipped bit in a ciphertext without a manifest": {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: flip, headless: true, want: dbfile.ErrCorrupt},
		"two concatenated ciphertexts without a manifest":  {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: more, headless: true, want: dbfile.ErrCorrupt},
		"a truncated zstd stream":                          {encoder: codec.Encoder{Compression: codec.Zstd}, change: cut, want: dbfile.ErrCorrupt},
		"a flipped bit in a zstd stream":                   {encoder: codec.Encoder{Compression: codec.Zstd}, change: flip, want: dbfile.ErrCorrupt},
		"a truncated zstd stream without a manifest":       {encoder: codec.Encoder{Compression: codec.Zstd}, change: cut, headless: true, want: dbfile.ErrCorrupt},
		"a plain object in place of an encoded one":        {encoder: codec.Encoder{Compression: codec.Zstd}, change: func([]byte) []byte { return content }, want: dbfile.ErrCorrupt},
		"two concatenated zstd streams without a manifest": {encoder: codec.Encoder{Compression: codec.Zstd}, change: more, headless: true, want: dbfile.ErrNoTrailer},
		"invalid data after the magic number of zstd":      {encoder: codec.Encoder{Compression: codec.Zstd}, change: func([]byte) []byte { return []byte(snapshottest.ZstdStart + "nonsense") }, headless: true, want: dbfile.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, func(r *save.Request) { r.Encoder = test.encoder })); err != nil {
				t.Fatal(err)
			}
			if test.change != nil {
				store.Replace(snapshottest.Key, test.change(store.Content(snapshottest.Key)))
			}
			if test.headless {
				store.Remove(snapshottest.Key + ".json")
			}
			dir := t.TempDir()
			_, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(dir), test.identities, snapshot.Anyone)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), string(test.identities)) && test.identities != nil || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("the error shows an identity: %v", err)
			}
			if left := snapshottest.OnDisk(t, dir); len(left) != 0 {
				t.Errorf("left %q on the disk", left)
			}
		})
	}
}

// torn is a store whose bodies break off.
type torn struct{ objstore.Store }

func (s torn) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if err != nil || strings.HasSuffix(key, ".json") {
		return body, err
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(body, 20000), snapshottest.ErrReader{Err: errors.New("connection reset")})), nil
}

func TestInterruptedDownloadIsNotReportedAsCorruption(t *testing.T) {
	alice, aliceKey := snapshottest.KeyPair(t)
	for _, encoder := range []codec.Encoder{{}, {Compression: codec.Zstd}, {Recipients: []string{alice}}, {Compression: codec.Zstd, Recipients: []string{alice}}} {
		store := snapshottest.NewBucket(t)
		if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.Member, 3000), func(r *save.Request) { r.Encoder = encoder })); err != nil {
			t.Fatal(err)
		}
		_, err := proof.Fetch(t.Context(), torn{store}, snapshottest.Key, proof.Alone(t.TempDir()), aliceKey, snapshot.Anyone)
		if err == nil || errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, codec.ErrIdentity) || !strings.Contains(err.Error(), "connection reset") {
			t.Errorf("%+v: error %v, want the connection's", encoder.Encoding(), err)
		}
	}
}
