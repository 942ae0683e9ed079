package failure

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// WithoutRefusals makes a wait of a step that was refused, and that no other rule took the place of.
func WithoutRefusals(v *view.View, step steps.Step, actErr error) (steps.Step, error) {
	step, actErr = inEndingNamespace(v, step, actErr)
	if wait, is := WaitInstead(v, step, actErr); is {
		step, actErr = plan.Bounded(v.State, wait), nil
	}
	if refusal := etcd.RefusalOf(actErr); refusal != etcd.NotRefused {
		step, actErr = certificates.RefusedByEtcd(v.State, refusal), nil
	}
	if why, is := refusesSeed(v, step, actErr); is {
		step, actErr = restore.RefuseSeed(&v.State, why, dryrun.RehearseAgain), nil
	}
	if v.Skipped == nil && actErr == nil && steps.Acts(step) && kube.Refused(v.Obstructed) {
		v.Skipped = v.Obstructed // the step is of a later rule, so nothing else reports it
	}
	if wait, is := dryrun.RefusedStep(v.Skipped); is && actErr == nil {
		if !steps.Acts(step) {
			step = wait
		}
		v.Skipped = nil
	}
	return step, actErr
}

// WaitInstead returns the wait that reports a refused step that the rest of the plan depends on; false for a failure that passes.
func WaitInstead(v *view.View, step steps.Step, err error) (steps.Wait, bool) {
	var dry *dryrun.Refusal
	switch {
	case errors.Is(err, view.ErrBehind), errors.Is(err, view.ErrRemembered):
		return steps.Wait{}, false
	case errors.Is(err, etcd.ErrNotYet):
		return plan.RefusedForNow(v.State, step, etcd.Answer(err)), true
	case errors.As(err, &dry):
		return steps.Wait{Reason: v1beta2.ReasonPodRefused, Message: dry.Message, Stalled: true, Requeue: dryrun.RehearseAgain}, true
	}
	if _, is := step.(steps.ChangeAccounts); is && err != nil && !kube.Refused(err) {
		return plan.Bounded(v.State, steps.Wait{
			Reason: v1beta2.ReasonAccountsNotChanged, Overdue: v1beta2.ReasonAccountsNotChanged, Requeue: dryrun.RehearseAgain, Limit: 2 * time.Minute,
			Message: planning.Sentence("A change of users and roles failed: ", etcd.Cause(err)) + " The operator tries again every 30 s.",
		}), true
	}
	if why, is := refusesSeed(v, step, err); is {
		wait, waits := restore.RefuseSeed(&v.State, why, dryrun.RehearseAgain).(steps.Wait)
		return wait, waits
	}
	if byWebhook(err) && !kube.Refused(err) {
		return plan.Bounded(v.State, steps.Wait{
			Reason: v1beta2.ReasonObjectRefused, Requeue: dryrun.RehearseAgain,
			Message: planning.Sentence("An admission webhook of this Kubernetes does not answer: ", planning.Quote(err.Error(), dryrun.MaxQuote)) + " The operator tries again every 30 s. Check the Service and the Pods of the webhook.",
		}), true
	}
	return refusedObject(err)
}

// refusedObject returns the wait that reports an object that the API server refuses for good; false for any other error.
func refusedObject(err error) (steps.Wait, bool) {
	if !kube.Refused(err) {
		return steps.Wait{}, false
	}
	return steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: kube.RefusalMessage(err), Stalled: true, Requeue: dryrun.RehearseAgain}, true
}

// inEndingNamespace makes a wait of a step that failed because its namespace is being deleted: Kubernetes creates nothing in it, and deletes
// the EtcdCluster, too. A step that was carried out stands.
func inEndingNamespace(v *view.View, step steps.Step, actErr error) (steps.Step, error) {
	ending := func(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }
	skipped := ending(v.Skipped)
	if skipped {
		v.Skipped = nil
	}
	if ending(actErr) || skipped && actErr == nil && !steps.Acts(step) {
		return plan.Bounded(v.State, steps.Wait{Reason: v1beta2.ReasonDeleting, Message: "Namespace " + v.Namespace + " is being deleted, so Kubernetes creates no objects in it."}), nil
	}
	return step, actErr
}
