package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

const (
	// slowest is the longest interval to which looks at a cluster that waits are spread.
	slowest = 10 * time.Second
	// patience is which part of the time that a cluster has waited may pass before the next look.
	patience = 10
	// jitter is by which part an interval of looks varies, so that clusters that started together do not stay together.
	jitter = 0.2
)

// urgent is the priority of work: of a cluster that the operator has just changed, as of events. Looks have the priority of
// what an operator finds when it starts. So what a person did comes before all clusters that only have to be looked at.
var urgent, look = 0, handler.LowPriority

// again says when to look at a cluster next, and how urgent that is. A cluster that waits is looked at less often the longer
// it has waited: a member that hangs for an hour would hold workers as much as one that starts.
func again(interval time.Duration, acted bool, waited time.Duration) ctrl.Result {
	if acted && interval < slowest {
		return ctrl.Result{RequeueAfter: interval, Priority: &urgent}
	}
	if interval < slowest {
		interval = min(max(interval, waited/patience), slowest)
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(interval, jitter), Priority: &look}
}

// waited is how long nothing has changed for an EtcdCluster.
func (known *remembered) waited(changed bool, now time.Time) time.Duration {
	if changed || known.changed.IsZero() {
		known.changed = now
	}
	return now.Sub(known.changed)
}
