package plan_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// endsWith runs a world until it reports the reason to a person, and then until all is well again.
func endsWith(t *testing.T, w *world.World, reason, has string) {
	t.Helper()
	o := run.Run(w, plan.Plan)
	wait, is := o.Last.(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != reason || !strings.Contains(wait.Message, has) || len(w.Violations) > 0 {
		t.Fatalf("it ends with %T %+v, %v\n%s", o.Last, o.Last, w.Violations, trace(o))
	}
	fault.Repair(w)
	if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
		t.Errorf("afterwards it ends with %T %+v, %v\n%s", o.Last, o.Last, w.Violations, trace(o))
	}
}

func TestAChangeThatEtcdRefusesForLongIsReported(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	w.EtcdRefuses, w.Cluster.Spec.Size = true, 5
	endsWith(t, w, v1beta2.ReasonRefusedByEtcd, "unhealthy cluster")
}

// A voter that somebody added by hand does not run, so etcd refuses each new member.
func TestAForeignVoterThatIsDownIsNamedIfEtcdRefusesANewMember(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	if !fault.AddForeign(w) || !fault.PromoteForeign(w) || !fault.StopForeign(w) {
		t.Fatal("there is no foreign voter that is down")
	}
	w.Cluster.Spec.Size = 5
	endsWith(t, w, v1beta2.ReasonRefusedByEtcd, "guest")
}

func TestAnObjectThatAdmissionDeniesIsReportedAndNothingIsLost(t *testing.T) {
	for _, kind := range world.Kinds {
		for name, formed := range map[string]bool{"a new cluster": false, "a cluster that grows": true} {
			if formed && kind == world.Service {
				continue // a Service that exists is not created
			}
			t.Run(kind+" of "+name, func(t *testing.T) {
				w := world.New(3, true)
				if formed {
					run.Run(w, plan.Plan)
				}
				w.Denied, w.Cluster.Spec.Size = kind, 5
				endsWith(t, w, v1beta2.ReasonObjectRefused, "the label team is missing")
			})
		}
	}
}

// TestRandomFaultsAndRefusalsBreakNothing adds what etcd and admission refuse for long to all other faults.
func TestRandomFaultsAndRefusalsBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{refusing: true})
}
