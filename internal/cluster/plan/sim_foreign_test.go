package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestAClusterIsWholeAgainAfterForeignMembersWereRemovedByConsent adds a foreign learner or voter to clusters of each size.
func TestAClusterIsWholeAgainAfterForeignMembersWereRemovedByConsent(t *testing.T) {
	for size := 1; size <= 5; size++ {
		for _, votes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d members, votes: %v", size, votes), func(t *testing.T) {
				w := world.New(size, true)
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) {
					t.Fatal(trace(o))
				}
				if !fault.AddForeign(w) || (votes && !fault.PromoteForeign(w)) {
					t.Fatal("etcd refuses the foreign member")
				}
				o := run.Run(w, plan.Plan)
				wait, is := o.Last.(steps.Wait)
				if !is || wait.Reason != v1beta2.ReasonForeignMember || !wait.Stalled || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
				fault.ConsentToForeign(w)
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
			})
		}
	}
}

func TestTheSimulationFindsAForeignMemberThatIsRemovedWithoutConsent(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	fault.AddForeign(w)
	run.Run(w, func(s state.State) steps.Step {
		s.Asked.RemoveForeign = nil
		for _, m := range s.ForeignMembers {
			s.Asked.RemoveForeign = append(s.Asked.RemoveForeign, m.ID.String())
		}
		return plan.Plan(s)
	})
	if len(w.Violations) == 0 || !strings.HasPrefix(w.Violations[0], "invariant 10") {
		t.Errorf("violations are %q", w.Violations)
	}
}

// If foreign members are a quorum, alone or with an old member that has not stopped, they acknowledge writes beside a seed. The user
// consents to remove them as soon as the restore has begun. Each world loses nothing, a Pod, a node or all Pods
// at another pass.
func TestNoRestoreTakesOverBesideForeignMembersThatMayRun(t *testing.T) {
	t.Parallel()
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	losses := map[string]func(*world.World){
		"nothing":  func(*world.World) {},
		"a Pod":    func(w *world.World) { fault.StopPod(w, 0) },
		"a node":   func(w *world.World) { fault.LoseNode(w, 0) },
		"all Pods": fault.StopPods,
	}
	for size := 1; size <= 3; size++ {
		for foreign := 1; foreign <= 2; foreign++ {
			for lost, lose := range losses {
				for at := range rounds * 12 {
					w := besideForeign(t, size, foreign)
					w.Chance(rand.New(rand.NewPCG(uint64(at), 0)))
					w.Restores = append(w.Restores, world.Restore{UID: restoreUID, Verified: true, Revision: proven})
					for range at % 12 {
						run.Pass(w, plan.Plan)
						effects.Tick(w)
						fault.ConsentToForeign(w)
					}
					lose(w)
					if o := run.Run(w, plan.Plan); slices.ContainsFunc(w.Violations, forks) {
						t.Fatalf("%d members and %d others, pass %d, loss of %s: %q\n%s", size, foreign, at, lost, w.Violations, trace(o))
					}
				}
			}
		}
	}
}

// forks reports whether a violation is that two clusters acknowledge writes.
func forks(violation string) bool { return strings.HasPrefix(violation, "invariant 0") }

// besideForeign returns a cluster of a size, to which another party has added a number of voters.
func besideForeign(t *testing.T, size, foreign int) *world.World {
	t.Helper()
	w := world.New(size, true)
	for range foreign {
		run.Run(w, plan.Plan)
		if !fault.AddForeign(w) || !fault.PromoteForeign(w) {
			t.Fatal("etcd refuses the foreign member")
		}
	}
	run.Run(w, plan.Plan)
	return w
}
