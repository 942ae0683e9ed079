package verify_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Another EtcdBackup of the cluster shares the folder, and encrypts for an identity that is not in this Kubernetes. Its snapshot was the first one of
// the window, so each proof began with it and failed, and the archive was never proven.
func TestNoProofBeginsWithASnapshotThatAnotherEtcdBackupHasEncrypted(t *testing.T) {
	w := attempttest.NewKept(t, snapshot.Passed)
	survey, index, known := surveyed(t, w)
	survey.Drop()
	newest, oldest := index.Items[0], index.Items[len(index.Items)-1]
	o := w.O
	o.Newest = o.Shown(newest.Key, known[newest.Key].Manifest, snapshot.Anyone)
	foreign := known[oldest.Key].Manifest
	foreign.Backup, foreign.Encryption, foreign.PlainSize, foreign.PlainSHA256 = "vault", codec.Age, foreign.Size, foreign.SHA256
	content, err := json.Marshal(foreign)
	if err == nil {
		err = w.Delete(t.Context(), snapshot.ManifestKey(oldest.Key))
	}
	if err != nil {
		t.Fatal(err)
	}
	attempttest.Place(t, w.Memory, snapshot.ManifestKey(oldest.Key), string(content))
	from, to, found, err := verify.ChooseInterval(t.Context(), o, w, known[newest.Key].Manifest.Revision)
	if err != nil || !found || slices.Contains([]string{from, to}, oldest.Key) {
		t.Errorf("found %t, from %q to %s: %v", found, from, to, err)
	}
}
