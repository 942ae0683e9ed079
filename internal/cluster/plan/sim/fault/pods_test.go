package fault

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// TestAFaultOfAPodThatHasEndedTouchesNoOtherMember: the API server deletes such a Pod at once, and the next Pod moves to its place in
// the list. The fault then deleted the volume of that Pod's member, also the only one of a gentle world (SIM_SEED=1, world 2779).
func TestAFaultOfAPodThatHasEndedTouchesNoOtherMember(t *testing.T) {
	t.Parallel()
	first := uint64(0)
	for rand.New(rand.NewPCG(first, 0)).IntN(2) != 0 {
		first++ // until chance picks the first Pod
	}
	for name, fault := range map[string]fault{"delete the Pod": deletePod, "lose the member": loseMember, "lose the node": loseNode} {
		w := world.New(2, true)
		w.Pods = []world.Pod{{Name: "ended", State: state.PodEnded}, {Name: "running", State: state.PodRunning}}
		w.Volumes = []world.Volume{{Name: "ended"}, {Name: "running"}}
		said := fault(w, rand.New(rand.NewPCG(first, 0)))
		if p, v := w.Pod("running"), w.Volume("running"); p == nil || p.Stuck || p.State != state.PodRunning || v.Deleting || !strings.HasSuffix(said, " ended") {
			t.Errorf("%s: it reports %q; the other member has the Pod %+v and the volume %+v", name, said, p, v)
		}
	}
}
