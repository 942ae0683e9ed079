package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

const (
	// Slowest is the longest interval to which looks at a cluster that waits are spread.
	Slowest = 10 * time.Second
	// Patience is which part of the time that a cluster has waited may pass before the next look.
	Patience = 10
	// Jitter is by which part an interval of looks varies, so that clusters that started together do not stay together.
	Jitter = 0.2
	// startingTime is how long a cluster that starts is looked at before others. One that cannot start must not delay them.
	startingTime = 30 * time.Second
	// LooksPerSecond limits the looks and health checks of clusters that have nothing to do. With more than 600, each has one less
	// often than every 10 seconds.
	LooksPerSecond = 60
)

// Urgent is the priority of work: of a cluster that the operator has just changed, as of events. Looks have the priority of
// what an operator finds when it starts. So what a person did comes before all clusters that only have to be looked at.
// Between them are clusters whose members start for the first time, and then those that were not begun: of a thousand that are
// created at once, the first are ready long before the last.
var Urgent, starting, unbegun, look = 0, -25, -50, handler.LowPriority

// Spread is the shortest interval of looks at each of many clusters that have nothing to do.
func Spread(clusters, perSecond int) time.Duration {
	return time.Duration(clusters) * time.Second / time.Duration(perSecond)
}

// Again says when to look at a cluster next, and how urgent that is. A cluster that waits is looked at less often the longer
// it has waited: a member that hangs for an hour would hold workers as much as one that starts.
func Again(interval time.Duration, acted, formed bool, waited time.Duration) ctrl.Result {
	if acted && interval < Slowest {
		return ctrl.Result{RequeueAfter: interval, Priority: &Urgent}
	}
	if !formed && interval < Slowest && waited < startingTime {
		return ctrl.Result{RequeueAfter: wait.Jitter(interval, Jitter), Priority: &starting}
	}
	if interval < Slowest {
		interval = min(max(interval, waited/Patience), Slowest)
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(interval, Jitter), Priority: &look}
}
