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
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Name of the operator, in logs, leader election and events.
const Name = "backup-operator"

// concurrency is how many EtcdBackups are reconciled at the same time. A pass waits for the API server only. With one, the passes are
// slower than the snapshots if many are due at once, and the order of the passes decides instead of the turns of the namespaces.
const concurrency = 8

// Reconciler does one step for an EtcdBackup in each pass.
type Reconciler struct {
	client client.Client
	// live reads from the API server, and not from the cache.
	live     client.Reader
	events   kubeevents.EventRecorder
	attempts *attempts
	// copies are the attempts to copy to the second location.
	copies *attempts
	// archives are the archivers of the clusters.
	archives *archives
	attempt  attemptFunc
	metrics  *metrics
	// deletions is when this process saw first that an EtcdBackup is being deleted.
	deletions sightings
	// identity says which namespaces may use the operator's own identity, and below which paths.
	identity grant.List
	limits   limits
	// jitter is the longest time by which snapshots of the same schedule are spread.
	jitter time.Duration
	server *clock.Server
	now    func() time.Time
}

// Setup registers the controller with the manager.
func Setup(mgr manager.Manager, options Options) error {
	space, err := openSpool(options)
	if err != nil {
		return err
	}
	if err := watchSpool(options.Metrics, space); err != nil {
		return err
	}
	limits, notice, err := openTests(options)
	if err != nil {
		return err
	}
	if notice != "" {
		mgr.GetLogger().Info(notice)
	}
	take, err := newJob(mgr.GetAPIReader(), space, limits)
	if err != nil {
		return err
	}
	take.identity, take.now = options.OwnIdentity, options.Server.Now
	m, err := newMetrics(options.Metrics)
	if err != nil {
		return err
	}
	archives, err := openArchives(options, take)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		events:   mgr.GetEventRecorder(Name),
		attempts: newAttempts(options.lanes()),
		copies:   newAttempts(map[string]int{laneCopy: maxCopies}),
		archives: archives,
		identity: options.OwnIdentity,
		limits:   options.limits(),
		jitter:   options.Jitter,
		attempt:  take.attempt,
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
		WatchesRawSource(r.attempts.pool.Source()).
		WatchesRawSource(r.copies.pool.Source()).
		WatchesRawSource(r.archives.Source()).
		WithOptions(kube.Controller(concurrency)).
		Complete(r)
}

// startWorkers registers the metrics of the queues, and lets the manager run the workers.
func (r *Reconciler) startWorkers(mgr manager.Manager, registry prometheus.Registerer) error {
	if err := watchQueue(registry, r.attempts.pool, laneSnapshot, laneVerify, laneDrill, lanePurge); err != nil {
		return err
	}
	if err := watchQueue(registry, r.copies.pool, laneCopy); err != nil {
		return err
	}
	for _, run := range []manager.RunnableFunc{r.attempts.pool.Run, r.copies.pool.Run, r.archives.Run} {
		if err := mgr.Add(run); err != nil {
			return fmt.Errorf("add the workers to the manager: %w", err)
		}
	}
	return nil
}

// openArchives removes what an earlier process has spooled for its archives.
func openArchives(options Options, j *job) (*archives, error) {
	if err := cleanArchives(j.spool.Dir()); err != nil {
		return nil, err
	}
	counted, err := newArchiveMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	return newArchives((&archiveJob{job: j, metrics: counted}).run, counted), nil
}

// Reconcile does one pass: observe, plan, act and report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	backup, state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.attempts.forgetOthers(request.NamespacedName, "")
		r.copies.forgetOthers(request.NamespacedName, "")
		r.archives.forgetOthers(request.NamespacedName, "")
		r.metrics.forget(request.NamespacedName)
		r.deletions.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.attempts.forgetOthers(request.NamespacedName, state.UID)
	r.copies.forgetOthers(request.NamespacedName, state.UID)
	r.archives.forgetOthers(request.NamespacedName, state.UID)
	if state.recovering() {
		r.archives.drain(keyOf(backup))
	} else {
		r.archives.set(keyOf(backup), archiveOf(state))
	}
	r.metrics.proven(state)
	step, rule := Plan(state)
	description := step.describe(state)
	ctrl.LoggerFrom(ctx).V(1).Info("Planned the next step", "rule", rule, "step", fmt.Sprintf("%T", step))
	if counted(step) {
		// The count is in the status before the attempt starts. If the attempt ends this process, the next one waits.
		return r.reportAndAct(ctx, backup, state, step, description)
	}
	actErr := r.act(ctx, backup, state, step)
	if last(state, step) && actErr == nil {
		r.settle(backup, state, step)
		kube.PublishEvents(r.events, backup, description.Events)
		return reconcile.Result{}, nil // the EtcdBackup may not exist any more
	}
	changed, err := r.report(ctx, backup, state, step, actErr)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: atOnce}, nil // the next pass decides on the newer object
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.settle(backup, state, step)
	if changed && actErr == nil {
		kube.PublishEvents(r.events, backup, description.Events)
	}
	if actErr != nil {
		return reconcile.Result{}, actErr
	}
	return reconcile.Result{RequeueAfter: state.soonest(description.Requeue)}, nil
}

// counted returns whether the step starts an attempt.
func counted(step Step) bool {
	switch step.(type) {
	case TakeSnapshot, Drill, Purge, Copy:
		return true
	}
	return false
}

// reportAndAct starts an attempt after it has written the status that counts it.
func (r *Reconciler) reportAndAct(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step Step, d planning.Description) (reconcile.Result, error) {
	_, err := r.report(ctx, backup, s, step, nil)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: atOnce}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.act(ctx, backup, s, step); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: s.soonest(d.Requeue)}, nil
}

// last returns whether the EtcdBackup may not exist any more after the step.
func last(s State, step Step) bool {
	_, removed := step.(RemoveFinalizer)
	_, released := step.(Release)
	_, expired := step.(Expire)
	return expired || s.Deleting && (removed || released)
}

// report writes the status.
func (r *Reconciler) report(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step Step, err error) (bool, error) {
	after := backup.DeepCopy()
	if kube.Refused(err) {
		err = refusal(kube.RefusalMessage(err))
	}
	after.Status = NewStatus(s, step, err)
	before := backup.Status.DeepCopy()
	r.metrics.reported(s, after.Status)
	changed, err := kube.PatchStatus(ctx, r.client, backup, after)
	if err != nil {
		kube.ReportRefusedStatus(r.events, backup, err)
	}
	if changed && err == nil {
		kube.PublishEvents(r.events, backup, archiveEvents(*before, after.Status, s.Archive))
		kube.PublishEvents(r.events, backup, copyEvents(*before, after.Status))
	}
	return changed, err
}

// backupsOf returns the EtcdBackups that name a cluster.
func (r *Reconciler) backupsOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var backups v1beta2.EtcdBackupList
	if err := r.client.List(ctx, &backups, client.InNamespace(cluster.GetNamespace())); err != nil {
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
		return !ok || !ok2 || !reflect.DeepEqual(clusterOf(before), clusterOf(after))
	}}
}
