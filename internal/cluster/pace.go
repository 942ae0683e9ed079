package cluster

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	// slowest is the longest interval to which looks at a cluster that waits are spread.
	slowest = 10 * time.Second
	// firstRepeat is the pause after a step that was carried out twice in a row. Each further time it doubles, up to repeatsDouble times: 6.4 s.
	firstRepeat   = 200 * time.Millisecond
	repeatsDouble = 5
	// patience is which part of the time that a cluster has waited may pass before the next look.
	patience = 10
	// jitter is by which part an interval of looks varies, so that clusters that started together do not stay together.
	jitter = 0.2
)

// urgent is the priority of work: of a cluster that the operator has just changed, as of events. Looks have the priority of
// what an operator finds when it starts. So what a person did comes before all clusters that only have to be looked at.
// Between them are clusters whose members start for the first time, and then those that were not begun: of a thousand that are
// created at once, the first are ready long before the last.
var urgent, starting, unbegun, look = 0, -25, -50, handler.LowPriority

const (
	// startingTime is how long a cluster that starts is looked at before others. One that cannot start must not delay them.
	startingTime = 30 * time.Second
	// looksPerSecond limits the looks and health checks of clusters that have nothing to do. With more than 600, each has one less
	// often than every 10 seconds.
	looksPerSecond = 60
)

// spread is the shortest interval of looks at each of many clusters that have nothing to do.
func spread(clusters, perSecond int) time.Duration {
	return time.Duration(clusters) * time.Second / time.Duration(perSecond)
}

// again says when to look at a cluster next, and how urgent that is. A cluster that waits is looked at less often the longer
// it has waited: a member that hangs for an hour would hold workers as much as one that starts.
func again(interval time.Duration, acted, formed bool, waited time.Duration) ctrl.Result {
	if acted && interval < slowest {
		return ctrl.Result{RequeueAfter: interval, Priority: &urgent}
	}
	if !formed && interval < slowest && waited < startingTime {
		return ctrl.Result{RequeueAfter: wait.Jitter(interval, jitter), Priority: &starting}
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

// nearer returns whether the plan asks for the next look sooner than in the last pass: what an EtcdCluster waits for is near.
func (known *remembered) nearer(requeue time.Duration) bool {
	last := known.requeue
	known.requeue = requeue
	return requeue < last
}

// repeated returns the pause after a step. It doubles each time that the same step is carried out again: the cache is far behind then, or
// something reverses the step, or keeps an object that is to be deleted.
func (known *remembered) repeated(step plan.Step, requeue time.Duration) time.Duration {
	switch {
	case !plan.Acts(step):
		known.acted, known.again = nil, 0
		return requeue
	case !reflect.DeepEqual(step, known.acted):
		known.acted, known.again = step, 0
		return requeue
	}
	known.again++
	return max(requeue, firstRepeat<<min(known.again-1, repeatsDouble))
}

// isUnbegun says whether no pass has reported on an EtcdCluster yet.
func isUnbegun(object client.Object) bool {
	cluster, ok := object.(*v1beta2.EtcdCluster)
	return ok && cluster.Status.ObservedGeneration < cluster.Generation && cluster.Status.ClusterID == "" && cluster.DeletionTimestamp == nil
}

// begunBefore drops the creation of EtcdClusters that enqueueUnbegun handles.
func begunBefore() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !isUnbegun(e.Object) }}
}

// enqueueUnbegun queues new EtcdClusters behind those that were begun.
func enqueueUnbegun() handler.EventHandler {
	return handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if !isUnbegun(e.Object) {
			return
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
		if byPriority, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: &unbegun}, request)
			return
		}
		queue.Add(request)
	}}
}
