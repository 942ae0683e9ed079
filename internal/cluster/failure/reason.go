package failure

import (
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// Of returns the error that a pass ends with; nil if it did something.
func Of(v *view.View, step steps.Step, actErr error) error {
	if actErr == nil && steps.Acts(step) {
		return nil
	}
	return errors.Join(actErr, v.Skipped)
}

// ReasonOf is the reason of the conditions for what was refused while the rest of the plan was carried out.
func ReasonOf(v *view.View, refused error) string {
	switch {
	case plan.RefusedStop(v.State) != "", kube.Refused(refused):
		return v1beta2.ReasonObjectRefused
	case errors.Is(refused, view.ErrForeign):
		return v1beta2.ReasonNotOurs
	}
	return v1beta2.ReasonReconcileError
}

// RefusalText is what the status says of what was refused.
func RefusalText(refused error) string {
	if kube.Refused(refused) {
		return kube.RefusalMessage(refused)
	}
	return refused.Error()
}

// RefusalsOf returns what the API server refused and the rest of the plan did not depend on: in this pass, or the deletion of a
// stopped Pod that is held.
func RefusalsOf(v *view.View) error {
	stop := plan.RefusedStop(v.State)
	switch {
	case stop == "":
		return v.Skipped
	case v.Skipped == nil:
		return errors.New(stop)
	}
	return fmt.Errorf("%s. %w", stop, v.Skipped)
}
