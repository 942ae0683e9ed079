package failure

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// refusesSeed returns why Kubernetes refuses to create the seed of a restore; false if the step or the error is another
// one. A webhook answers with any code, so only those errors do not count that pass by themselves.
func refusesSeed(v *view.View, step steps.Step, actErr error) (why string, is bool) {
	create, creates := step.(steps.CreateMember)
	if !creates || !restore.IsSeed(v.State, create.Name) || actErr == nil || errors.Is(actErr, view.ErrBehind) {
		return "", false
	}
	var answered apierrors.APIStatus
	switch {
	case errors.Is(actErr, view.ErrForeign):
		return actErr.Error(), true
	case apierrors.IsConflict(actErr), apierrors.IsTimeout(actErr), apierrors.IsServerTimeout(actErr), apierrors.IsTooManyRequests(actErr), apierrors.IsServiceUnavailable(actErr):
		return "", false
	}
	return actErr.Error(), errors.As(actErr, &answered)
}
