package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

const (
	// concurrency is how many EtcdRestores are reconciled at the same time.
	concurrency = 4
	// passTimeout limits one pass, which sends requests to Kubernetes only.
	passTimeout = 30 * time.Second
	// afterConflict is the pause after a write conflict. By then the cache contains the newer object.
	afterConflict = time.Second
)

// Setup registers the controller with mgr.
func Setup(mgr manager.Manager, options Options) error {
	counted, err := newMetrics(options.Metrics)
	if err != nil {
		return err
	}
	r := newReconciler(mgr.GetClient(), mgr.GetEventRecorder(Name), counted, options.Server.Now, options)
	r.direct = mgr.GetAPIReader()
	if err := mgr.Add(manager.RunnableFunc(r.reader.proofs.Run)); err != nil {
		return fmt.Errorf("add the snapshot readers to the manager: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(r.saver.safeties.Run)); err != nil {
		return fmt.Errorf("add the savers of old data to the manager: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(r.writer.writings.Run)); err != nil {
		return fmt.Errorf("add the writers of keys to the manager: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(r.urls.renewals.Run)); err != nil {
		return fmt.Errorf("add the signers of URLs to the manager: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.EtcdRestore{}).
		Watches(&v1beta2.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(r.siblings)).
		Watches(&v1beta2.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.concerned(intoCluster))).
		Watches(&v1beta2.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.concerned(fromBackup)), builder.WithPredicates(predicate.Funcs{UpdateFunc: concerns})).
		WatchesRawSource(r.reader.proofs.Source()).
		WatchesRawSource(r.saver.safeties.Source()).
		WatchesRawSource(r.writer.writings.Source()).
		WatchesRawSource(r.urls.renewals.Source()).
		WithOptions(kube.Controller(concurrency)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("register the EtcdRestore controller: %w", err)
	}
	return nil
}

func intoCluster(spec v1beta2.EtcdRestoreSpec, name string) bool {
	return spec.EtcdCluster.Name == name
}

func fromBackup(spec v1beta2.EtcdRestoreSpec, name string) bool {
	return spec.EtcdBackup != nil && spec.EtcdBackup.Name == name
}

// concerns reports whether an update of an EtcdBackup may matter to EtcdRestores. While clients write, the end of its archive moves every few
// seconds, and a pass reads it from the cache. So one update a minute is enough for that.
func concerns(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1beta2.EtcdBackup)
	after, both := e.ObjectNew.(*v1beta2.EtcdBackup)
	return !is || !both || !equality.Semantic.DeepEqual(withoutProgress(before), withoutProgress(after))
}

// withoutProgress returns an EtcdBackup with the end of its archive in minutes, and without the texts that name that end.
func withoutProgress(b *v1beta2.EtcdBackup) *v1beta2.EtcdBackup {
	b = b.DeepCopy()
	b.ResourceVersion, b.ManagedFields = "", nil
	if n := len(b.Status.Recoverable); n > 0 {
		to := &b.Status.Recoverable[n-1].To
		to.Revision, to.Time = 0, metav1.NewTime(to.Time.Truncate(time.Minute))
	}
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].Message = ""
	}
	return b
}

// Reconcile does one pass: observe, plan, act and report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.forgetOthers(request.NamespacedName, "")
		r.users.set(request.NamespacedName, "")
		r.metrics.forget(request.Namespace, request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observe EtcdRestore %s: %w", request, err)
	}
	step, rule := plan.Plan(state)
	description := steps.Describe(state, step)
	log.FromContext(ctx).V(1).Info("Planned the next step", "rule", rule, "step", fmt.Sprintf("%T", step))
	if plan.Begins(step) {
		return r.reportAndBegin(ctx, state, step, description)
	}
	actErr := r.act(ctx, state, step)
	if kube.Refused(actErr) {
		step, actErr = plan.ObjectRefused(kube.RefusalMessage(actErr)), nil
		description = steps.Describe(state, step)
	}
	if actErr != nil {
		return reconcile.Result{}, errors.Join(actErr, client.IgnoreNotFound(r.reportFailed(ctx, state, step, actErr)))
	}
	err = r.report(ctx, state, step, description.Events)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if reading, is := step.(steps.Verifying); is && !reading.Queued {
		r.reader.begun.recorded(keyOf(&state.Restore))
	}
	return reconcile.Result{RequeueAfter: description.Requeue}, nil
}

// reportAndBegin starts to read the snapshot after the status says so. If the snapshot ends this process, the next one pauses first.
func (r *Reconciler) reportAndBegin(ctx context.Context, state state.State, step steps.Step, d planning.Description) (reconcile.Result, error) {
	err := r.report(ctx, state, step, d.Events)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.act(ctx, state, step); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: d.Requeue}, nil
}

// reportFailed writes a status that says why the effect of a step failed.
func (r *Reconciler) reportFailed(ctx context.Context, state state.State, step steps.Step, failed error) error {
	after := state.Restore.DeepCopy()
	after.Status = status.New(state, step, failed)
	_, err := kube.PatchStatus(ctx, r.client, &state.Restore, after)
	return err
}

// report writes the status and, if it changed, publishes the events of the step.
func (r *Reconciler) report(ctx context.Context, state state.State, step steps.Step, published []planning.Event) error {
	after := state.Restore.DeepCopy()
	after.Status = status.New(state, step, nil)
	changed, err := kube.PatchStatus(ctx, r.client, &state.Restore, after)
	if err != nil {
		kube.ReportRefusedStatus(r.events, &state.Restore, err)
		return err
	}
	r.metrics.reported(&state.Restore, after)
	if changed {
		kube.PublishEvents(r.events, after, published)
	}
	return nil
}

// concerned returns the function that finds the unfinished restores that depend on an object.
func (r *Reconciler) concerned(by func(v1beta2.EtcdRestoreSpec, string) bool) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		var restores v1beta2.EtcdRestoreList
		if err := r.client.List(ctx, &restores, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Could not list the EtcdRestores", "namespace", object.GetNamespace())
			return nil
		}
		var requests []reconcile.Request
		for i := range restores.Items {
			restore := &restores.Items[i]
			if restore.Status.CompletionTime == nil && by(restore.Spec, object.GetName()) {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: restore.Namespace, Name: restore.Name}})
			}
		}
		return requests
	}
}

// siblings returns the unfinished restores of the same cluster, because one of them may wait for another.
func (r *Reconciler) siblings(ctx context.Context, object client.Object) []reconcile.Request {
	restore, ok := object.(*v1beta2.EtcdRestore)
	if !ok {
		return nil
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: restore.Namespace, Name: restore.Spec.EtcdCluster.Name}}
	return r.concerned(intoCluster)(ctx, cluster)
}
