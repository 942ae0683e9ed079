package archiving

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func keeperOf(t *testing.T, w *attempttest.Kept, store objstore.Store) (k *keeper, ended *error) {
	t.Helper()
	ended = new(error)
	return &keeper{
		job:      &runner{Clients: &clients.Clients{Now: w.Now}, spool: spool.New(t.TempDir(), spool.Options{})},
		Archiver: &Archiver{turn: make(chan struct{}, 1), news: make(chan struct{}, 1), notify: func() {}, spec: Spec{job: w.O}},
		store:    store, running: &archiver.Archiver{}, end: func(err error) { *ended = err },
		known: catalog.Known{}, asked: map[string]time.Time{}, held: objstore.Keep(w.O.Namespace),
	}, ended
}

// A store lists, and answers each GET with 500 for some hours. A keeper counts each manifest that it could not read again at each look. In the end it had
// counted all that its namespace may keep. When the store answered again, it did not look at its archive until the operator was restarted: nothing was
// pruned, and no base was asked for. The keepers of all other namespaces had only what was left.
func TestAnOutageOfAStoreLeavesNoMemoryCounted(t *testing.T) {
	used, restore := objstore.ReplaceMemory(4 << 20) // 64 times less, so a night is a few minutes
	defer restore()
	w := attempttest.NewKept(t, snapshot.Passed)
	store := objstoretest.NewFaulty(w.Memory)
	k, ended := keeperOf(t, w, store)
	defer k.held.Release()
	k.look(t.Context())
	if unread := k.Archiver.look().Unread; unread != "" || *ended == nil { // it got as far as the comparison with its archiver, which has no timeline here
		t.Fatalf("before: %q, %v", unread, *ended)
	}
	k.known = catalog.Known{} // the operator was restarted
	k.held.Release()
	for _, key := range w.Keys() {
		store.Set(key, objstoretest.Lost)
	}
	store.Set(w.O.ArchiveRoot()+"proof/last.proof-failed", objstoretest.Lost)
	for minute := range 12 * 60 {
		k.look(t.Context())
		if minute == 0 {
			t.Logf("during the outage: %s", k.Archiver.look().Unread)
		}
	}
	t.Logf("after the outage %d KiB are counted, for %d manifests that are held", used()>>10, len(k.known))
	for _, key := range w.Keys() {
		store.Set(key, 0)
	}
	store.Set(w.O.ArchiveRoot()+"proof/last.proof-failed", 0)
	*ended = nil
	for range 60 {
		k.look(t.Context())
	}
	if *ended == nil {
		t.Errorf("the store answers again for an hour, and the archive is not read: %s", k.Archiver.look().Unread)
	}
	other := objstore.Keep("other")
	defer other.Release()
	if err := other.Add(1 << 20); err != nil {
		t.Errorf("another namespace: %v", err)
	}
}

// One tenant has archives in two namespaces, whose servers list 100,000 manifests of 1 KiB. Their keepers keep them for months. Since what is kept has a
// budget of its own, no keeper of an honest namespace reads its archive: nothing is pruned, no base is asked for, and status.recoverable stands still.
func TestKeepersOfTwoNamespacesLeaveAPartToTheKeepersOfOthers(t *testing.T) {
	w := attempttest.NewKept(t, snapshot.Passed)
	for _, namespace := range []string{"tenant-1", "tenant-2"} {
		h := objstore.Keep(namespace)
		defer h.Release()
		for h.Add(2048) == nil {
		}
	}
	k, ended := keeperOf(t, w, w.Memory)
	defer k.held.Release()
	k.look(t.Context())
	if *ended == nil {
		t.Errorf("the archive of an honest namespace with 5 snapshots is not read: %s", k.Archiver.look().Unread)
	}
}

// What a look has read fits into what may be kept. It is counted to that while the look still counts it, too, so it does not fit, is forgotten, and each
// look reads all manifests again.
func TestWhatALookHasReadIsKept(t *testing.T) {
	for _, n := range []int{400, 600, 800, 1000, 1200, 1400} {
		_, restore := objstore.ReplaceMemory(4 << 20)
		w := attempttest.NewKept(t, snapshot.Passed)
		w.O.Keep.Window = 10000 * time.Hour
		for i := range n {
			w.At = w.At.Add(time.Minute)
			w.Take(int64(100+i), snapshot.Passed)
		}
		k, ended := keeperOf(t, w, w.Memory)
		k.look(t.Context())
		unread := k.Archiver.look().Unread
		all := objstore.Keep("ns-of-the-test")
		bytes := int64(n+5) * (1024 + 400)
		fits := all.Add(bytes) == nil
		all.Release()
		t.Logf("%d snapshots: known %d, unread %q, ended %v, fits %v", n, len(k.known), unread, *ended, fits)
		if unread == "" && len(k.known) == 0 && fits {
			t.Errorf("%d manifests were read, fit into what may be kept, and are forgotten", n)
		}
		k.held.Release()
		restore()
	}
}
