package source

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A degraded store omits the named snapshot from its listing, and answers 500 (or 403) for the object itself.
func TestAFaultOfTheNamedSnapshotIsNotItsAbsence(t *testing.T) {
	for name, fault := range map[string]objstoretest.Fault{"500": objstoretest.Lost, "403 cold": objstoretest.Cold} {
		t.Run(name, func(t *testing.T) {
			m := objstoretest.NewMemory()
			series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
			keys := []string{series.Key(dawn.Add(-48*time.Hour), 1), series.Key(dawn, 9)}
			for _, key := range keys {
				text, err := snapshot.Manifest{FormatVersion: 1, Revision: 2, Keys: 1, Size: 2, SHA256: strings.Repeat("ab", 32), CreatedAt: dawn,
					Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: series.ID()}}.Encode()
				if err != nil {
					t.Fatal(err)
				}
				for n, c := range map[string][]byte{key: []byte("{}"), snapshot.ManifestKey(key): text} {
					if err := m.Put(t.Context(), n, objstore.NewMetadata(c)); err != nil {
						t.Fatal(err)
					}
				}
			}
			m.Set(keys[1], objstoretest.Omitted|fault)
			got, why, err := exact(t.Context(), m, v1beta2.RestoreSource{Bucket: "b", Key: keys[1]}, Choice{Fallback: "daily/ns/a/"}, snapshot.Anyone, dawn.Add(time.Hour))
			if err == nil && got == keys[0] {
				t.Errorf("two days of data are given up: %s", why)
			}
		})
	}
}

// Who may write to a bucket but not delete there (object lock) writes <key>.verdict-failed. A restore that requires a signature then takes an older snapshot.
func TestAVerdictWithoutASignatureTakesNoOlderSnapshot(t *testing.T) {
	s := newShelf(t)
	signer, signers := s.signingKey()
	older, newest := s.saved("a", 1, 1), s.saved("a", 1, 49)
	s.sign(signer, older)
	s.sign(signer, newest)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	src := v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/"}
	if key, _, err := choose(t.Context(), store, src, Choice{Folder: true}, signers, time.Now()); err != nil || key != newest {
		t.Fatalf("%s %v", key, err)
	}
	s.file(snapshot.VerdictKey(newest, snapshot.Failed), nil)
	if key, why, err := choose(t.Context(), store, src, Choice{Folder: true}, signers, time.Now()); err == nil && key == older {
		t.Errorf("an empty object without a signature rolls the restore back by two days: %s", why)
	}
	named := v1beta2.RestoreSource{Bucket: s.bucket, Key: newest}
	if key, why, err := exact(t.Context(), store, named, Choice{Fallback: "daily/ns/a/"}, signers, time.Now()); err == nil && key == older {
		t.Errorf("also that of an EtcdBackup, whose status names the newest: %s", why)
	}
}

// Three manifests without a signature, in the folder of the newest incarnation and newer than its own, name another cluster. All signed snapshots of the
// incarnation count as forged, and a signed one of an earlier incarnation is restored.
func TestManifestsWithoutASignatureForgeNoIncarnation(t *testing.T) {
	for forged := range 4 {
		s := newShelf(t)
		signer, signers := s.signingKey()
		older, newest := s.savedBy("u", 1, 1), s.savedBy("u", 2, 49)
		s.sign(signer, older)
		s.sign(signer, newest)
		store, err := file.Open(s.bucket)
		if err != nil {
			t.Fatal(err)
		}
		for i := range forged {
			key := s.saved("a", 2, 50+i)
			s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.ID = "00000000000000ff" })
		}
		src := v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/"}
		key, why, err := choose(t.Context(), store, src, Choice{Folder: true}, signers, time.Now())
		if err == nil && key == older {
			t.Errorf("%d unsigned manifests roll the restore back by two days: %s", forged, why)
		}
	}
}

// One manifest without a signature names another UID, in the folder of the newest incarnation. A restore by path into the EtcdCluster takes a signed snapshot
// of an earlier incarnation.
func TestAManifestWithoutASignatureNamesNoOwner(t *testing.T) {
	s := newShelf(t)
	signer, signers := s.signingKey()
	older, newest := s.savedBy("u", 1, 1), s.savedBy("u", 2, 49)
	s.sign(signer, older)
	s.sign(signer, newest)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	s.savedBy("evil", 2, 50)
	src := v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/"}
	key, why, err := choose(t.Context(), store, src, Choice{Folder: true, UID: "u"}, signers, time.Now())
	if err == nil && key == older {
		t.Errorf("one unsigned manifest rolls the restore back by two days: %s", why)
	}
}
