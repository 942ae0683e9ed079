package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// planAndAct carries out the first step that the plan returns. If the API server refuses the object of that step for good,
// and the plan does not depend on it, the rest of the plan is carried out: its step may be the cure, or be about the next
// object of the same rule. If the plan depends on it, or etcd refuses the step for now, a wait takes its place, and the rules after it
// are asked as after any wait. No step is tried twice. The first refusal is kept in the view.
func (r *Reconciler) planAndAct(ctx context.Context, v *view) (plan.Step, error) {
	for {
		step, rule := plan.Choose(v.State)
		log.FromContext(ctx).V(1).Info("planned", "step", fmt.Sprintf("%T", step), "rule", rule)
		err := r.act(ctx, v, step)
		if err == nil {
			v.known.repeats.Did(v.State, step, v.cluster.Generation, v.Now)
		}
		if err == nil {
			return step, nil
		}
		if !skippable(v, rule, step, err) {
			wait, is := v.waitInstead(step, err)
			if !is {
				return step, err
			}
			v.Obstruct(step, wait)
			v.obstructed = cmp.Or(v.obstructed, err)
			continue
		}
		if v.DeletesStopped(step) && !errors.Is(err, errForeign) {
			v.Held = append(slices.Clone(v.Held), v.known.repeats.Refused(v.State, step, planning.Shorten(err.Error(), maxQuote)))
			continue
		}
		v.Refuse(step)
		if v.skipped == nil {
			v.skipped = err
		}
	}
}

// skippable reports whether later rules are asked after an error of a rule.
func skippable(v *view, rule string, step plan.Step, err error) bool {
	if errors.Is(err, errBehind) {
		return false
	}
	if plan.FencesStopped(v.State, step) {
		return objectRefused(err) && !errors.Is(err, errForeign)
	}
	return plan.Independent(v.State, rule, step) && (objectRefused(err) || plan.Unconditional(rule))
}

// objectRefused reports whether an error is about one object, and the same call fails until somebody acts.
func objectRefused(err error) bool {
	var dry *refusal
	return apierrors.IsForbidden(err) || byWebhook(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, errForeign) || errors.Is(err, errKept) || errors.As(err, &dry)
}

// byWebhook reports whether an admission webhook refused a call, or could not be called. It chooses the code of its answer, and
// the API server takes 400 if the webhook names none.
func byWebhook(err error) bool { return err != nil && strings.Contains(err.Error(), `webhook "`) }

// waitInstead returns the wait that reports a refused step that the rest of the plan depends on; false for a failure that passes.
func (v *view) waitInstead(step plan.Step, err error) (plan.Wait, bool) {
	var dry *refusal
	switch {
	case errors.Is(err, errBehind), errors.Is(err, errRemembered):
		return plan.Wait{}, false
	case errors.Is(err, etcd.ErrNotYet):
		return v.RefusedForNow(step, etcd.Answer(err)), true
	case errors.As(err, &dry):
		return plan.Wait{Reason: v1beta2.ReasonPodRefused, Message: dry.message, Stalled: true, Requeue: rehearseAgain}, true
	}
	if why, is := v.refusesSeed(step, err); is {
		wait, waits := v.RefuseSeed(why, rehearseAgain).(plan.Wait)
		return wait, waits
	}
	if byWebhook(err) && !kube.Refused(err) {
		return v.Bounded(plan.Wait{
			Reason: v1beta2.ReasonObjectRefused, Requeue: rehearseAgain,
			Message: planning.Sentence("An admission webhook of this Kubernetes does not answer: ", planning.Quote(err.Error(), maxQuote)) + " The operator tries again every 30 s. Check the Service and the Pods of the webhook.",
		}), true
	}
	return v.refusedObject(err)
}

// refusedObject returns the wait that reports an object that the API server refuses for good; false for any other error.
func (v *view) refusedObject(err error) (plan.Wait, bool) {
	if !kube.Refused(err) {
		return plan.Wait{}, false
	}
	return plan.Wait{Reason: v1beta2.ReasonObjectRefused, Message: kube.RefusalMessage(err), Stalled: true, Requeue: rehearseAgain}, true
}

// refusals returns what the API server refused and the rest of the plan did not depend on: in this pass, or the deletion of a
// stopped Pod that is held.
func (v *view) refusals() error {
	stop := v.RefusedStop()
	switch {
	case stop == "":
		return v.skipped
	case v.skipped == nil:
		return errors.New(stop)
	}
	return fmt.Errorf("%s. %w", stop, v.skipped)
}

// inEndingNamespace makes a wait of a step that failed because its namespace is being deleted: Kubernetes creates nothing in it, and deletes
// the EtcdCluster, too. A step that was carried out stands.
func (v *view) inEndingNamespace(step plan.Step, actErr error) (plan.Step, error) {
	ending := func(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }
	skipped := ending(v.skipped)
	if skipped {
		v.skipped = nil
	}
	if ending(actErr) || skipped && actErr == nil && !plan.Acts(step) {
		return v.Bounded(plan.Wait{Reason: v1beta2.ReasonDeleting, Message: "Namespace " + v.Namespace + " is being deleted, so Kubernetes creates no objects in it."}), nil
	}
	return step, actErr
}

// unsaid is how long the status may lack what the operator does while a cluster starts.
const unsaid = 10 * time.Second

// saysLater says whether the status is left to the next pass. While a cluster starts, the steps follow each other at once, and who
// reads the status learns nothing from each. The next pass sees what the step made, so nothing is lost. Steps that create objects of
// members are reported at once: until then the cache shows those objects, so that no pass creates them again. A cluster that has formed
// starts until its status first says that a quorum serves.
func (v *view) saysLater(step plan.Step, actErr error) bool {
	started := v.ClusterID != "" && v.cluster.Status.Phase != v1beta2.ClusterPhaseCreating
	if v.known == nil || started || actErr != nil || v.refusals() != nil || v.cluster.Status.ObservedGeneration != v.cluster.Generation ||
		v.known.reported.IsZero() || v.Now.Sub(v.known.reported) >= unsaid {
		return false
	}
	switch step.(type) {
	case plan.CreateCA, plan.RequestCertificates, plan.WriteCertificates, plan.ApplyServices, plan.ApplyNetworkPolicy, plan.ApplyBudget:
		return true
	}
	return false
}

// unreportedTimeout bounds the status write of a pass whose own time may be over.
const unreportedTimeout = 5 * time.Second

// reportUnread writes into the status that Kubernetes could not be read, so that the pass leaves a trace.
func (r *Reconciler) reportUnread(ctx context.Context, cluster *v1beta2.EtcdCluster, readErr error) error {
	if errors.Is(readErr, context.Canceled) {
		return readErr // the operator stops
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unreportedTimeout)
	defer cancel()
	after := cluster.DeepCopy()
	plan.NoteError(&after.Status, readErr.Error(), v1beta2.ReasonReconcileError, cluster.Generation, r.Now())
	if kube.Refused(readErr) {
		plan.NoteStalled(&after.Status, time.Time{}, cluster.Generation, r.Now())
	}
	_, err := kube.PatchStatus(ctx, r.Client, cluster, after)
	if apierrors.IsConflict(err) {
		err = nil // the next pass reports it
	}
	return errors.Join(readErr, client.IgnoreNotFound(err))
}
