package fault

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

func newRestore(w *world.World, r *rand.Rand) string {
	w.NextID++
	restore := world.Restore{UID: types.UID(fmt.Sprintf("restore-%d", w.NextID)), Revision: 1000, Seed: world.Fate(r.IntN(5) % 4), Exact: r.IntN(4) == 0, Saver: world.Saver(r.IntN(5) % 3)}
	if w.Formed() == nil && r.IntN(2) == 0 {
		restore.Follow, restore.Exact, restore.Seed = true, false, restore.Seed%world.FateTooOld // it begins with what was proven, or later
	}
	w.Restores = append(w.Restores, restore)
	return fmt.Sprintf("new EtcdRestore %s, fate %d, exact: %t", restore.UID, restore.Seed, restore.Exact)
}

// onRestore does something to a random EtcdRestore.
func onRestore(w *world.World, r *rand.Rand, do func(*world.Restore) string) string {
	if len(w.Restores) == 0 {
		return ""
	}
	restore := &w.Restores[r.IntN(len(w.Restores))]
	return do(restore) + " " + string(restore.UID)
}

func verifyRestore(w *world.World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *world.Restore) string {
		if restore.Verified && restore.Follow {
			restore.Promote = true
			return "promote"
		}
		restore.Verified = true
		return "verify"
	})
}

func deleteRestore(w *world.World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *world.Restore) string {
		restore.Deleted = true
		return "delete"
	})
}

func changeFate(w *world.World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *world.Restore) string {
		restore.Seed = world.Fate(r.IntN(4))
		if restore.Follow {
			restore.Seed %= world.FateTooOld
		}
		return fmt.Sprintf("fate %d of", restore.Seed)
	})
}
