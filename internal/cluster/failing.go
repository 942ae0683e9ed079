package cluster

import (
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// failing is since when all passes of an EtcdCluster have ended with an error. Its zero value is ready to use.
type failing struct{ since time.Time }

// saw records how a pass ended.
func (f *failing) saw(err error, now time.Time) {
	if err == nil {
		f.since = time.Time{}
	} else if f.since.IsZero() || f.since.After(now) {
		f.since = now
	}
}

// tooLong returns whether a person must look. Until then, the failure may pass.
func (f *failing) tooLong(now time.Time) bool {
	return !f.since.IsZero() && now.Sub(f.since) >= plan.FailureLimit
}

// failure returns the error that a pass ends with; nil if it did something.
func (v *view) failure(step plan.Step, actErr error) error {
	if actErr == nil && plan.Acts(step) {
		return nil
	}
	return errors.Join(actErr, v.skipped)
}

// reasonOf is the reason of the conditions for what was refused while the rest of the plan was carried out.
func (v *view) reasonOf(refused error) string {
	switch {
	case v.RefusedStop() != "", kube.Refused(refused):
		return v1beta2.ReasonObjectRefused
	case errors.Is(refused, errForeign):
		return v1beta2.ReasonNotOurs
	}
	return v1beta2.ReasonReconcileError
}

// refusalText is what the status says of what was refused.
func refusalText(refused error) string {
	if kube.Refused(refused) {
		return kube.RefusalMessage(refused)
	}
	return refused.Error()
}
