// Package failure turns the error of a step into what the status reports: a wait or a refusal, with a reason and advice.
package failure

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Skippable reports whether later rules are asked after an error of a rule.
func Skippable(v *view.View, rule string, step steps.Step, err error) bool {
	if errors.Is(err, view.ErrBehind) {
		return false
	}
	if recovery.FencesStopped(v.State, step) {
		return objectRefused(err) && !errors.Is(err, view.ErrForeign)
	}
	return plan.Independent(v.State, rule, step) && (objectRefused(err) || plan.Unconditional(rule))
}

// objectRefused reports whether an error is about one object, and the same call fails until somebody acts.
func objectRefused(err error) bool {
	var dry *dryrun.Refusal
	return apierrors.IsForbidden(err) || byWebhook(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, view.ErrForeign) || errors.Is(err, dryrun.ErrKept) || errors.As(err, &dry)
}

// byWebhook reports whether an admission webhook refused a call, or could not be called. It chooses the code of its answer, and
// the API server takes 400 if the webhook names none.
func byWebhook(err error) bool { return err != nil && strings.Contains(err.Error(), `webhook "`) }
