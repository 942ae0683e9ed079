package cluster

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
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
