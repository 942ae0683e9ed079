package plantest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Plans has a state for each case, by the name of the case, and the step that the plan must return.
type Plans map[string]struct {
	State state.State
	Want  steps.Step
}

// Limits are the fields of a Wait that say what happens after a time. TestTheWaitOfEachRuleIsStalledAfterItsLimit is about them.
var Limits = cmpopts.IgnoreFields(steps.Wait{}, "Limit", "Overdue", "Advice", "Progress", "Was")

// Run compares the plan of each state with the wanted step. A removal is planned only if the previous pass recorded it, so Run sets that record first.
func (tests Plans) Run(t *testing.T, plan func(state.State) steps.Step) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if removal, is := test.Want.(steps.RemoveMember); is && test.State.Removing == "" {
				test.State.Removing, _ = membership.VoterOf(test.State, removal.ID)
			}
			if diff := cmp.Diff(test.Want, plan(test.State), Limits); diff != "" {
				t.Errorf("Plan (-want +got):\n%s", diff)
			}
		})
	}
}
