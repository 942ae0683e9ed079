package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestMembersWithoutVolumesAreAllReplaced changes the version of clusters of every size, of which some members already run the
// new one. Each run ends with Done, every other member is replaced, and leadership moves at most once.
func TestMembersWithoutVolumesAreAllReplaced(t *testing.T) {
	for _, version := range []string{"3.6.17", "3.7.3"} {
		for size := 1; size <= 5; size++ {
			for fresh := range size {
				for leader := range size {
					t.Run(fmt.Sprintf("%d, %d of %s, member %d leads", size, fresh, version, leader), func(t *testing.T) {
						s := formed(size, false, slices.Repeat([]condition{ready}, size))
						s.Spec.Version = version
						s.Members[leader].Leader = true
						for i := range fresh {
							s.Members[i].PodImage, s.Members[i].Version = image(version), version
						}
						replacesAll(t, s, size-fresh)
					})
				}
			}
		}
	}
}

// replacesAll runs a world to its end, and checks that only the stale members were replaced.
func replacesAll(t *testing.T, s state.State, stale int) {
	t.Helper()
	w := observe.From(s)
	o := run.Run(w, plan.Plan)
	if _, done := o.Last.(steps.Done); !done || len(w.Violations) > 0 {
		t.Fatalf("%v\n%s", w.Violations, trace(o))
	}
	added, removed, moved := 0, 0, 0
	for _, step := range o.Steps {
		switch step.(type) {
		case steps.AddLearner:
			added++
		case steps.RemoveMember:
			removed++
		case steps.MoveLeader:
			moved++
		}
	}
	if added != stale || removed != stale || moved > 1 {
		t.Errorf("%d added, %d removed, want %d; leadership moved %d times\n%s", added, removed, stale, moved, trace(o))
	}
}
