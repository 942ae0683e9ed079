package failure

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// etcd elected a leader while users were changed, and the status demanded that a person acts. Tools for deployments then give up.
func TestAFailedChangeOfUsersIsStalledOnlyIfItLasts(t *testing.T) {
	_, v := clustertest.Beside(t)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	for lasted, stalled := range map[time.Duration]bool{0: false, time.Hour: true} {
		wait, is := WaitInstead(v, steps.ChangeAccounts{}, context.DeadlineExceeded)
		v.Waiting.Saw(plan.Waits(v.State, wait), v.Now.Add(-lasted))
		wait, _ = WaitInstead(v, steps.ChangeAccounts{}, context.DeadlineExceeded)
		if !is || wait.Stalled != stalled || wait.Reason != v1beta2.ReasonAccountsNotChanged {
			t.Errorf("after %s: %+v", lasted, wait)
		}
		v.Waiting.Saw(nil, v.Now)
	}
}
