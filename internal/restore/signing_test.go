package restore

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// streamed is a member that sends these bytes.
type streamed []byte

func (s streamed) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader(string(s))), int64(len(s)), nil
}

// signingKey returns a key pair.
func signingKey(t *testing.T) (*snapshot.Signer, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := snapshot.ParseSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER}))
}

// TestTriesOfAWriterOfTheBucketAgainstASignature does what a user can do who can write to the bucket, but holds no signing key. A restore with the
// public key reads nothing of it into a cluster.
func TestTriesOfAWriterOfTheBucketAgainstASignature(t *testing.T) {
	signer, public := signingKey(t)
	intruder, _ := signingKey(t)
	signers, err := snapshot.ParseSigners(public)
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "daily/ns/a/0000000000000001/20261121T100000Z-00000000000000000031.db", "daily/ns/a/0000000000000001/20261121T110000Z-00000000000000000031.db"
	for name, test := range map[string]struct {
		try    func(b shelf)
		reason string
	}{
		"does nothing": {func(shelf) {}, ""},
		"replaces a snapshot together with its manifest": {func(b shelf) { b.drop(second); b.save(second, 50, nil) }, v1beta2.ReasonSnapshotNotSigned},
		"signs the replacement with another key":         {func(b shelf) { b.drop(second); b.save(second, 50, intruder) }, v1beta2.ReasonSignatureInvalid},
		"keeps the signature for another snapshot":       {func(b shelf) { b.transplant(second) }, v1beta2.ReasonSignatureInvalid},
		"puts an older snapshot in place of a newer one": {func(b shelf) { b.move(first, second) }, v1beta2.ReasonSignatureInvalid},
		"removes the manifest":                           {func(b shelf) { b.remove(snapshot.ManifestKey(second)) }, v1beta2.ReasonSnapshotNotSigned},
		"deletes the snapshot":                           {func(b shelf) { b.drop(second) }, v1beta2.ReasonObjectNotFound},
		"replaces only the object":                       {func(b shelf) { b.write(second, b.forged(second)) }, v1beta2.ReasonSnapshotCorrupt},
		"replaces the object by one of another size":     {func(b shelf) { b.write(second, dbfiletest.New(t, 1).Put(500, 200).Snapshot()) }, v1beta2.ReasonSnapshotCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			b := shelf{t, t.TempDir()}
			b.save(first, 30, signer)
			b.save(second, 40, signer)
			test.try(b)
			s, err := OpenSpool(t.TempDir(), spool.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for kind, asked := range map[string]Asked{
				"by its path":   {Source: v1beta2.RestoreSource{StorageType: "File", Bucket: b.dir, Key: second}},
				"by its folder": {Source: v1beta2.RestoreSource{StorageType: "File", Bucket: b.dir, Key: "daily/"}, Choice: source.Choice{Folder: true}},
			} {
				asked.Signers = signers
				found, err := s.Prove(t.Context(), asked)
				if hidesNewest[name] && kind == "by its folder" { // the newest one is the first then. A signature cannot show that there was another
					if err != nil || found.Source.Key != first || found.Proven.Snapshot.SignedBy == "" {
						t.Errorf("%s: the signed snapshot before it is not restored: %+v, %v", kind, found, err)
					}
					continue
				}
				var f failure
				if err != nil {
					f = classify(err, asked.Source)
				}
				switch {
				case test.reason == "" && (err != nil || found.Proven.Snapshot.SignedBy == "" || found.Source.Key != second):
					t.Errorf("%s: the signed snapshot is refused, or its signer is not reported: %+v, %v", kind, found, err)
				case test.reason != "" && (err == nil || f.Reason != test.reason || !f.Final || !strings.Contains(f.Message, "cluster was not changed")):
					t.Errorf("%s: %+v, error %v, want %s", kind, f, err, test.reason)
				}
			}
			if left, err := os.ReadDir(s.Dir()); err != nil || len(left) > 0 {
				t.Errorf("the spool has %v, %v", left, err)
			}
		})
	}
}

// hidesNewest are the tries after which the folder has no second snapshot. One whose size is not that in its manifest is none.
var hidesNewest = map[string]bool{"removes the manifest": true, "deletes the snapshot": true, "replaces the object by one of another size": true}

// shelf is a bucket in a directory.
type shelf struct {
	*testing.T
	dir string
}

func (b shelf) save(key string, keys int, by *snapshot.Signer) {
	b.Helper()
	store, err := file.Open(b.dir)
	if err != nil {
		b.Fatal(err)
	}
	_, err = save.Snapshot(b.Context(), save.Request{
		Source: streamed(dbfiletest.New(b.T, 1).Put(keys, 20).Snapshot()), Store: store, Key: key, SpoolDir: b.TempDir(), Spool: spool.New(b.TempDir(), spool.Options{}).Of("ns"),
		Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: "0000000000000001"}, Time: now, Attempt: "u/1", Signer: by,
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b shelf) write(key string, content []byte) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, key), content, 0o600); err != nil {
		b.Fatal(err)
	}
}

// forged returns another database of the same size, with the trailer that etcd would write.
func (b shelf) forged(key string) []byte {
	b.Helper()
	content := b.read(key)
	database := content[:len(content)-sha256.Size]
	at := bytes.LastIndex(database, []byte("key-000001"))
	if at < 0 {
		b.Fatal("the snapshot has no key to change")
	}
	copy(database[at:], "key-666666")
	sum := sha256.Sum256(database)
	return append(database, sum[:]...)
}

func (b shelf) read(key string) []byte {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, key))
	if err != nil {
		b.Fatal(err)
	}
	return content
}

func (b shelf) remove(key string) {
	b.Helper()
	if err := os.Remove(filepath.Join(b.dir, key)); err != nil {
		b.Fatal(err)
	}
}

func (b shelf) drop(key string) {
	b.Helper()
	b.remove(key)
	b.remove(snapshot.ManifestKey(key))
}

// move puts one snapshot with its manifest into the place of another.
func (b shelf) move(from, to string) {
	b.Helper()
	b.write(to, b.read(from))
	b.write(snapshot.ManifestKey(to), b.read(snapshot.ManifestKey(from)))
}

// transplant replaces a snapshot, and keeps the signature of the former manifest.
func (b shelf) transplant(key string) {
	b.Helper()
	former, err := snapshot.DecodeManifest(b.read(snapshot.ManifestKey(key)))
	b.drop(key)
	b.save(key, 50, nil)
	forged, forgedErr := snapshot.DecodeManifest(b.read(snapshot.ManifestKey(key)))
	forged.Signature = former.Signature
	text, encodeErr := forged.Encode()
	if err := errors.Join(err, forgedErr, encodeErr); err != nil {
		b.Fatal(err)
	}
	b.write(snapshot.ManifestKey(key), text)
}
