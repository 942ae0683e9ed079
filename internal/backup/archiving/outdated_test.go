package archiving

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A keeper runs for months and held the name of each outdated segment. If it did not look again after a part of them, the rest would be kept and paid
// for. A store that keeps what it has deleted must not let it delete the same ones again and again.
func TestAKeeperDeletesWhatIsOutdatedInParts(t *testing.T) {
	const count = 2*limits.Deletions + 50
	root := archive.Root("f", "ns", "c")
	o := state.JobSpec{Namespace: "ns", Cluster: "c"}
	o.Target.Key = "f"
	m := objstoretest.NewMemory()
	k := &keeper{job: &runner{Clients: &clients.Clients{Now: statetest.At(statetest.T0), Secrets: attempttest.NewWorld(t).Secrets}}, Archiver: &Archiver{spec: Spec{job: o}}, store: m}
	found := func() {
		k.later, k.more = nil, true
		for i := range count {
			name := archive.NameOf(1, statetest.T0, int64(2+i))
			k.later = append(k.later, name)
			attempttest.Place(t, m, name.Key(root), "x")
		}
		k.outdate(o, nil)
	}
	for round, again := range []bool{true, false} {
		found()
		for i, last := range []bool{false, false, again} {
			if got := k.prune(t.Context()); got != last {
				t.Errorf("round %d: after part %d, the archive is looked at again: %t, want %t", round, i, got, last)
			}
		}
		if left := m.Keys(); len(left) > 0 {
			t.Errorf("round %d: %d objects are left", round, len(left))
		}
	}
}
