package state

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Ended returns the condition with which a one-shot has ended under the current spec: Complete, Failed, or an empty
// string. As for a Job, these conditions cannot be observed again. They are the only ones that the operator reads.
func (s State) Ended() string {
	if s.Series() {
		return ""
	}
	for _, kind := range []string{v1beta2.ConditionComplete, v1beta2.ConditionFailed} {
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		if c == nil || c.Status != "True" || c.ObservedGeneration != s.Generation {
			continue
		}
		if kind == v1beta2.ConditionComplete || Terminal(c.Reason) {
			return kind
		}
	}
	return ""
}

// Terminal returns whether another attempt under the same spec would fail the same way. Reasons of an invalid spec do not
// belong here, because every pass checks the spec again.
func Terminal(reason string) bool {
	return reason == v1beta2.ReasonObjectExists || reason == v1beta2.ReasonSnapshotCorrupt
}
