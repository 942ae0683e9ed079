package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
)

// TestAClusterIsWholeAgainAfterForeignMembersWereRemovedByConsent adds a learner, or a voter, to clusters of each size.
func TestAClusterIsWholeAgainAfterForeignMembersWereRemovedByConsent(t *testing.T) {
	for size := 1; size <= 5; size++ {
		for _, votes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d members, votes: %v", size, votes), func(t *testing.T) {
				w := model.New(size, true)
				if o := w.Run(plan.Plan); o.Last != (plan.Done{}) {
					t.Fatal(trace(o))
				}
				if !w.AddForeign() || (votes && !w.PromoteForeign()) {
					t.Fatal("etcd refuses the foreign member")
				}
				o := w.Run(plan.Plan)
				wait, is := o.Last.(plan.Wait)
				if !is || wait.Reason != v1beta2.ReasonForeignMember || !wait.Stalled || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
				w.ConsentToForeign()
				if o := w.Run(plan.Plan); o.Last != (plan.Done{}) || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
			})
		}
	}
}

func TestTheSimulationFindsAForeignMemberThatIsRemovedWithoutConsent(t *testing.T) {
	w := model.New(3, true)
	w.Run(plan.Plan)
	w.AddForeign()
	w.Run(func(s plan.State) plan.Step {
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
