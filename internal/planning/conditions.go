package planning

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Conditions writes the conditions of one status in one pass.
type Conditions struct {
	// List is that of the status.
	List *[]metav1.Condition
	// Generation of the spec that the pass has read.
	Generation int64
	// Now has the precision of the API, so that it equals what is read back.
	Now metav1.Time
	// Longest is how many bytes of a message are kept, because it may contain the answer of a server.
	Longest int
}

// Set writes a condition. The time of its transition is kept if its status is.
func (c Conditions) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.List, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: Shorten(message, c.Longest),
		ObservedGeneration: c.Generation, LastTransitionTime: c.Now,
	})
}

// True writes a condition that is true.
func (c Conditions) True(kind, reason, message string) {
	c.Set(kind, metav1.ConditionTrue, reason, message)
}

// False writes a condition that is false.
func (c Conditions) False(kind, reason, message string) {
	c.Set(kind, metav1.ConditionFalse, reason, message)
}

// NotFailed reports that no user needs to act.
func (c Conditions) NotFailed(reason string) {
	c.False(v1beta2.ConditionFailed, reason, "")
	c.False(v1beta2.ConditionStalled, reason, "")
}

// Find returns a condition, and nil if it is not set.
func (c Conditions) Find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*c.List, kind)
}

// Is returns whether a condition is true.
func (c Conditions) Is(kind string) bool { return meta.IsStatusConditionTrue(*c.List, kind) }

// Remove removes a condition of something that the spec does not have any more.
func (c Conditions) Remove(kind string) { meta.RemoveStatusCondition(c.List, kind) }
