package backup

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// Name of the operator, in logs, leader election and events.
const Name = "backup-operator"

// Options of the controller.
type Options struct {
	// SpoolDir is where snapshots lie while they are proven. What a killed operator left in it is removed.
	SpoolDir string
	// MaxConcurrent is how many snapshots are taken at once.
	MaxConcurrent int
	// Metrics is where the controller's metrics are registered.
	Metrics prometheus.Registerer
}

// Reconciler brings one EtcdBackup a step further.
type Reconciler struct {
	client client.Client
	// live reads past the cache.
	live     client.Reader
	events   kubeevents.EventRecorder
	attempts *attempts
	attempt  attemptFunc
	metrics  *metrics
	now      func() time.Time
}

// Setup registers the controller with the manager.
func Setup(mgr manager.Manager, options Options) error {
	take, err := newTaker(mgr.GetAPIReader(), options.SpoolDir)
	if err != nil {
		return err
	}
	m, err := newMetrics(options.Metrics)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		events:   mgr.GetEventRecorder(Name),
		attempts: newAttempts(options.MaxConcurrent),
		attempt:  take.attempt,
		metrics:  m,
		now:      time.Now,
	}
	if err := mgr.Add(manager.RunnableFunc(r.attempts.pool.Run)); err != nil {
		return fmt.Errorf("add the workers to the manager: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("etcdbackup").
		For(&v1beta2.EtcdBackup{}, builder.WithPredicates(specOrRequestChanged())).
		Watches(&v1beta2.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.backupsOf), builder.WithPredicates(clusterChanged())).
		WatchesRawSource(r.attempts.pool.Source()).
		Complete(r)
}

// Reconcile makes one pass: observe, plan, act, report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	backup, state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.attempts.forgetOthers(request.NamespacedName, "")
		r.metrics.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.attempts.forgetOthers(request.NamespacedName, state.UID)
	r.metrics.proven(state)
	step := Plan(state)
	ctrl.LoggerFrom(ctx).V(1).Info("planned", "state", state, "step", fmt.Sprintf("%T", step))
	actErr := r.act(ctx, backup, state, step)
	if last(state, step) && actErr == nil {
		r.settle(backup, state, step)
		r.tell(backup, state, step)
		return reconcile.Result{}, nil // it may be gone with that
	}
	changed, err := r.report(ctx, backup, state, step, actErr)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: atOnce}, nil // somebody wrote in between: decide on that
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.settle(backup, state, step)
	if changed && actErr == nil {
		r.tell(backup, state, step)
	}
	if actErr != nil {
		return reconcile.Result{}, actErr
	}
	return reconcile.Result{RequeueAfter: step.Requeue(r.now())}, nil
}

// last says whether the step may have made the object go.
func last(s State, step Step) bool {
	switch step.(type) {
	case RemoveFinalizer, Release:
		return s.Deleting
	case Expire:
		return true
	}
	return false
}

// tell emits the events of a step.
func (r *Reconciler) tell(backup *v1beta2.EtcdBackup, s State, step Step) {
	for _, e := range events(s, step) {
		r.events.Eventf(backup, nil, e.Type, e.Reason, e.Action, "%s", e.Text)
	}
}

// report writes the status.
func (r *Reconciler) report(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step Step, err error) (bool, error) {
	after := backup.DeepCopy()
	after.Status = NewStatus(s, step, err)
	return kube.PatchStatus(ctx, r.client, backup, after)
}

// backupsOf are the EtcdBackups that name a cluster.
func (r *Reconciler) backupsOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var backups v1beta2.EtcdBackupList
	if err := r.client.List(ctx, &backups, client.InNamespace(cluster.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list EtcdBackups", "namespace", cluster.GetNamespace())
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

// specOrRequestChanged lets through what a person did, and none of the operator's own writes.
func specOrRequestChanged() predicate.Predicate {
	request := func(object client.Object) string { return object.GetAnnotations()[v1beta2.AnnotationBackupNow] }
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld != nil && e.ObjectNew != nil && request(e.ObjectOld) != request(e.ObjectNew)
	}})
}

// clusterChanged lets through what a decision about a backup looks at; the sizes of databases change all the time.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1beta2.EtcdCluster)
		after, ok2 := e.ObjectNew.(*v1beta2.EtcdCluster)
		return !ok || !ok2 || !reflect.DeepEqual(clusterOf(before), clusterOf(after))
	}}
}
