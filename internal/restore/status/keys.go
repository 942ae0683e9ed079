package status

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// comparedKeys reports the comparison of a dry run or before the keys are written.
func (r report) comparedKeys(of *v1beta2.PrefixesStatus, source *v1beta2.RestoreSource) {
	if of == nil {
		return
	}
	r.status.Prefixes = of.DeepCopy()
	r.status.Prefixes.Source = source
}

// writing reports that keys are written. A new attempt is counted.
func (r report) writing(s state.State, step steps.RestoreKeys, d planning.Description) {
	if step.Start {
		r.status.Attempts++
	}
	r.restoring(s, d)
}

// completeKeys reports the end of a restore of prefixes.
func (r report) completeKeys(step steps.CompleteKeys, d planning.Description) {
	r.status.Prefixes = step.Compared.DeepCopy()
	r.status.Prefixes.Conflicts = step.Conflicts
	for _, name := range step.First {
		r.status.Prefixes.First = append(r.status.Prefixes.First, "conflict "+name)
	}
	r.status.Percent = 100
	r.complete(d)
}
