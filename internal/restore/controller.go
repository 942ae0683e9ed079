package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Name of the operator: of its controller, its events and its leader election.
const Name = "restore-operator"

const (
	// concurrency is how many EtcdRestores are looked at side by side.
	concurrency = 4
	// passTimeout bounds one pass, which talks to Kubernetes only.
	passTimeout = 30 * time.Second
	// afterConflict: what was read was too old; the cache has what is there a moment later.
	afterConflict = time.Second
)

// Options of the controller.
type Options struct {
	// Prove reads a source.
	Prove Prove
	// MaxProofs is how many sources are read at once.
	MaxProofs int
	// Metrics is where the controller's metrics are registered.
	Metrics prometheus.Registerer
}

// Reconciler brings EtcdRestores to their end, one step in each pass.
type Reconciler struct {
	client   client.Client
	events   events.EventRecorder
	read     Prove
	proofs   *worker.Pool[Proof]
	readings readings
	metrics  *metrics
	now      func() time.Time
}

// Setup registers the controller with mgr.
func Setup(mgr manager.Manager, options Options) error {
	counted, err := newMetrics(options.Metrics)
	if err != nil {
		return err
	}
	r := &Reconciler{
		metrics: counted,
		client:  mgr.GetClient(),
		events:  mgr.GetEventRecorder(Name),
		read:    options.Prove,
		proofs:  worker.New[Proof](options.MaxProofs),
		now:     time.Now,
	}
	if err := mgr.Add(manager.RunnableFunc(r.proofs.Run)); err != nil {
		return fmt.Errorf("add the readers of snapshots to the manager: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.EtcdRestore{}).
		Watches(&v1beta2.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(r.siblings)).
		Watches(&v1beta2.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.concerned(intoCluster))).
		Watches(&v1beta2.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.concerned(fromBackup))).
		WatchesRawSource(r.proofs.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
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

// Reconcile does one pass: observe, plan, act, report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.proofs.ForgetOthers(request.NamespacedName, "")
		r.metrics.forget(request.Namespace, request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observe EtcdRestore %s: %w", request, err)
	}
	step := Plan(state)
	log.FromContext(ctx).V(1).Info("planned", "step", fmt.Sprintf("%T", step), "detail", step, "state", state)
	if err := r.act(ctx, state, step); err != nil {
		return reconcile.Result{}, err
	}
	err = r.report(ctx, state, step)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{RequeueAfter: step.requeue()}, nil
}

// report writes the status, if it changed, and then says in an event what was done.
func (r *Reconciler) report(ctx context.Context, state State, step Step) error {
	after := state.Restore.DeepCopy()
	after.Status = Status(state, step)
	changed, err := kube.PatchStatus(ctx, r.client, &state.Restore, after)
	if err != nil {
		return err
	}
	r.metrics.told(&state.Restore, after)
	if !changed {
		return nil
	}
	if event, ok := eventOf(state.Restore.Status, after.Status); ok {
		r.events.Eventf(after, nil, event.Kind, event.Reason, "Restore", "%s", event.Message)
	}
	return nil
}

// concerned finds the unfinished restores that an object matters to.
func (r *Reconciler) concerned(by func(v1beta2.EtcdRestoreSpec, string) bool) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		var restores v1beta2.EtcdRestoreList
		if err := r.client.List(ctx, &restores, client.InNamespace(object.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "list EtcdRestores", "namespace", object.GetNamespace())
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

// siblings are the unfinished restores of the same cluster: one may be waiting for another.
func (r *Reconciler) siblings(ctx context.Context, object client.Object) []reconcile.Request {
	restore, ok := object.(*v1beta2.EtcdRestore)
	if !ok {
		return nil
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: restore.Namespace, Name: restore.Spec.EtcdCluster.Name}}
	return r.concerned(intoCluster)(ctx, cluster)
}
