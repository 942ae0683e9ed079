package restore

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Name of the controller, in logs, metrics and events.
const Name = "restore-operator"

// Options of the controller.
type Options struct {
	// SpoolDir is where a snapshot lies while it is proven. A directory in it is the operator's alone.
	SpoolDir string
	// MaxProofs is how many sources are read at once.
	MaxProofs int
}

// afterConflict: what was read was too old; the cache has what is there a moment later.
const afterConflict = time.Second

// Reconciler brings one EtcdRestore a step further.
type Reconciler struct {
	client client.Client
	events events.EventRecorder
	prover Prover
	proofs *worker.Pool[Proof]
	now    func() time.Time
}

// Setup registers the controller with the manager.
func Setup(_ context.Context, mgr manager.Manager, options Options) error {
	prover, err := NewProver(options.SpoolDir)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client: mgr.GetClient(),
		events: mgr.GetEventRecorder(Name),
		prover: prover,
		proofs: worker.New[Proof](options.MaxProofs),
		now:    time.Now,
	}
	if err := mgr.Add(manager.RunnableFunc(r.proofs.Run)); err != nil {
		return fmt.Errorf("add the proofs to the manager: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("etcdrestore").
		For(&v1beta2.EtcdRestore{}).
		Watches(&v1beta2.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.concerned(func(spec v1beta2.EtcdRestoreSpec, name string) bool {
			return spec.EtcdCluster.Name == name
		}))).
		Watches(&v1beta2.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.concerned(func(spec v1beta2.EtcdRestoreSpec, name string) bool {
			return spec.EtcdBackup != nil && spec.EtcdBackup.Name == name
		}))).
		WatchesRawSource(r.proofs.Source()).
		Complete(r)
}

// Reconcile makes one pass: observe, plan, act, report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.proofs.ForgetOthers(request.NamespacedName, "")
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	step := Plan(state)
	r.act(ctx, state, step)
	after := state.Restore.DeepCopy()
	after.Status = Status(state, step)
	changed, err := kube.PatchStatus(ctx, r.client, &state.Restore, after)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if changed {
		r.tell(&state.Restore, after)
	}
	return reconcile.Result{RequeueAfter: step.Requeue()}, nil
}

// concerned finds the unfinished restores that an object matters to.
func (r *Reconciler) concerned(by func(v1beta2.EtcdRestoreSpec, string) bool) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		var restores v1beta2.EtcdRestoreList
		if err := r.client.List(ctx, &restores, client.InNamespace(object.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list EtcdRestores", "namespace", object.GetNamespace())
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

// tell emits the events of a status that was written.
func (r *Reconciler) tell(before, after *v1beta2.EtcdRestore) {
	if event, ok := eventOf(before.Status, after.Status); ok {
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(after, nil, kind, event.Reason, "Restore", "%s", event.Message)
	}
}
