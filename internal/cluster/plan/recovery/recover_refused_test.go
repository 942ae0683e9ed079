package recovery_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A member with the lost data may recover between the choice of a survivor and its restart. The cluster then serves clients,
// and a restart of the survivor alone would lose writes.
func TestAQuorumThatIsBackAndRefusesTheOperatorIsNotStopped(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.User, plantest.Blind(etcd.RefusedPassword), plantest.Consenting, plantest.Forcing(0))
	if step, deletes := plan.Plan(s).(steps.DeletePod); deletes {
		t.Errorf("a quorum serves (Guarded %v), and the operator stops %s: %s", state.Guarded(s), step.Name, step.Message)
	}
}

// The cluster serves no client until the operator may read the survivor. The status must name the password as the cause.
func TestASurvivorThatRefusesTheOperatorIsReported(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.User, plantest.NoQuorum, plantest.Consenting, plantest.Forcing(0), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(0, plantest.Forced, func(m *state.Member) {
		m.Answers, m.PodReady, m.Guarded, m.Refusal, m.UnreadySince = false, true, true, etcd.RefusedPassword, time.Time{}
	}))
	for range 60 {
		s.Now = s.Now.Add(time.Minute)
	}
	wait, waits := plan.Plan(s).(steps.Wait)
	if !waits || wait.Reason != v1beta2.ReasonEtcdAccessDenied || !wait.Stalled {
		t.Errorf("an hour later the status says: %+v", plan.Plan(s))
	}
	status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	for _, c := range status.Conditions {
		t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
}

// The operator may lose its connection to the members between the choice of a survivor and its restart. Ready Pods prove that
// the members serve clients.
func TestAQuorumOfReadyPodsIsNotStopped(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.Forcing(0))
	for i := range s.Members {
		s.Members[i].Answers, s.Members[i].PodReady, s.Members[i].UnreadySince = false, true, time.Time{}
	}
	if step, cancels := plan.Plan(s).(steps.CancelRecovery); !cancels {
		t.Errorf("the plan is %T %+v", plan.Plan(s), step)
	}
}
