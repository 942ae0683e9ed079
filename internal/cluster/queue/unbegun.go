package queue

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// isUnbegun says whether no pass has reported on an EtcdCluster yet.
func isUnbegun(object client.Object) bool {
	cluster, ok := object.(*v1beta2.EtcdCluster)
	return ok && cluster.Status.ObservedGeneration < cluster.Generation && cluster.Status.ClusterID == "" && cluster.DeletionTimestamp == nil
}

// BegunBefore drops the creation of EtcdClusters that EnqueueUnbegun handles.
func BegunBefore() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !isUnbegun(e.Object) }}
}

// EnqueueUnbegun queues new EtcdClusters behind those that were begun.
func EnqueueUnbegun() handler.EventHandler {
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
