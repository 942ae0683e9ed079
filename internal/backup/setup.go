package backup

import (
	"context"
	"fmt"
	"reflect"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// Name of the operator, in logs, leader election and events.
const Name = state.Operator

// Options of the controller.
type Options = queue.Options

// Setup registers the controller with the manager.
func Setup(mgr manager.Manager, options Options) error {
	space, err := queue.OpenSpool(options)
	if err != nil {
		return err
	}
	if err := queue.WatchSpool(options.Metrics, space); err != nil {
		return err
	}
	limits, notice, err := queue.OpenTests(options)
	if err != nil {
		return err
	}
	if notice != "" {
		mgr.GetLogger().Info(notice)
	}
	reach := clients.New(mgr.GetAPIReader(), options.OwnIdentity, options.Server.Now)
	take, err := attempt.New(reach, space, limits)
	if err != nil {
		return err
	}
	m, err := newMetrics(options.Metrics)
	if err != nil {
		return err
	}
	archives, err := archiving.Open(options.Metrics, reach, space)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		events:   mgr.GetEventRecorder(Name),
		attempts: queue.NewAttempts(options.Lanes()),
		copies:   queue.NewAttempts(map[string]int{queue.LaneCopy: queue.MaxCopies}),
		archives: archives,
		identity: options.OwnIdentity,
		limits:   options.Limits(),
		jitter:   options.Jitter,
		attempt:  take.Run,
		metrics:  m,
		server:   options.Server,
		now:      options.Server.Now,
	}
	if err := r.startWorkers(mgr, options.Metrics); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("etcdbackup").
		For(&v1beta2.EtcdBackup{}, builder.WithPredicates(specOrRequestChanged())).
		Watches(&v1beta2.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.backupsOf), builder.WithPredicates(clusterChanged())).
		WatchesRawSource(r.attempts.Pool.Source()).
		WatchesRawSource(r.copies.Pool.Source()).
		WatchesRawSource(r.archives.Source()).
		WithOptions(kube.Controller(concurrency)).
		Complete(r)
}

// startWorkers registers the metrics of the queues, and lets the manager run the workers.
func (r *Reconciler) startWorkers(mgr manager.Manager, registry prometheus.Registerer) error {
	if err := queue.WatchQueue(registry, r.attempts.Pool, queue.LaneSnapshot, queue.LaneVerify, queue.LaneDrill, queue.LanePurge); err != nil {
		return err
	}
	if err := queue.WatchQueue(registry, r.copies.Pool, queue.LaneCopy); err != nil {
		return err
	}
	for _, run := range []manager.RunnableFunc{r.attempts.Pool.Run, r.copies.Pool.Run, r.archives.Run} {
		if err := mgr.Add(run); err != nil {
			return fmt.Errorf("add the workers to the manager: %w", err)
		}
	}
	return nil
}

// backupsOf returns the EtcdBackups that name a cluster.
func (r *Reconciler) backupsOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var backups v1beta2.EtcdBackupList
	if err := r.client.List(ctx, &backups, client.InNamespace(cluster.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the EtcdBackups", "namespace", cluster.GetNamespace())
		return nil
	}
	var requests []reconcile.Request
	for i := range backups.Items {
		if named := backups.Items[i].Spec.EtcdCluster; named != nil && named.Name == cluster.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&backups.Items[i])})
		}
	}
	return requests
}

// specOrRequestChanged ignores the operator's own writes to the status.
func specOrRequestChanged() predicate.Predicate {
	request := func(object client.Object) string { return object.GetAnnotations()[v1beta2.AnnotationBackupNow] }
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld != nil && e.ObjectNew != nil && request(e.ObjectOld) != request(e.ObjectNew)
	}})
}

// clusterChanged ignores changes that no decision about a backup depends on, such as the sizes of the databases.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1beta2.EtcdCluster)
		after, ok2 := e.ObjectNew.(*v1beta2.EtcdCluster)
		return !ok || !ok2 || !reflect.DeepEqual(state.ClusterOf(before), state.ClusterOf(after))
	}}
}
