package archiving

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// One locked object of an archive kept all those after it.
func TestAKeeperDeletesAllButTheObjectThatTheStoreRefusesToDelete(t *testing.T) {
	const count = 5
	root := archive.Root("f", "ns", "c")
	name := func(i int) string { return archive.LinkKey(root, 1, statetest.T0, int64(2+i)) }
	for locked := range count {
		m := objstoretest.NewMemory()
		for i := range count {
			attempttest.Place(t, m, name(i), "data")
		}
		m.Set(name(locked), objstoretest.Locked)
		k := &keeper{job: &runner{Clients: &clients.Clients{Now: statetest.At(statetest.T0), Secrets: attempttest.NewWorld(t).Secrets}}, Archiver: &Archiver{}, store: m, outdated: m.Keys()}
		k.prune(t.Context())
		for i := range count {
			if there := m.Has(name(i)); there != (i == locked) {
				t.Errorf("number %d is locked, and number %d is still there: %v", locked, i, there)
			}
		}
	}
}
