package inventory

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Another EtcdBackup of the same cluster and folder keeps its snapshots in an archive class on purpose. The own snapshot was deleted, or failed its
// test. No other one is taken for a day, so the newest revisions cannot be restored.
func TestAColdSnapshotOfAnotherEtcdBackupKeepsNoOwnOneFromBeingTaken(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	own := w.Keys()
	name := w.O.Name
	w.O.Name = "yearly"
	cold := w.Take(47, "")
	w.O.Name = name
	w.Set(cold, objstoretest.Cold)
	for _, key := range own {
		if _, is := snapshot.ParseKey(key); is {
			w.Set(key, objstoretest.Gone)
			w.Set(snapshot.ManifestKey(key), objstoretest.Gone)
		}
	}
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	if !f.Survey.Covered && Vain(w.O, f.Survey, known, w.At.Add(time.Hour)) {
		t.Errorf("nothing reaches the end of the archive, and no snapshot is taken, because %s is cold", cold)
	}
}
