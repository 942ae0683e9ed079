package state

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ActionRestore is the action of all events of an EtcdRestore.
const ActionRestore = "Restore"

// Announced adds an event of that type to the description if the step changes the reason of the Ready condition. A
// change of the message alone causes no event.
func (s State) Announced(kind string, d planning.Description) planning.Description {
	if ready := s.ready(); ready != nil && ready.Reason == d.Reason {
		return d
	}
	d.Events = []planning.Event{{
		Type: kind, Reason: d.Reason, Action: ActionRestore, Note: planning.Shorten(d.Message, planning.MaxNote),
	}}
	return d
}

// ready returns the Ready condition of the status, and nil if it is not set.
func (s State) ready() *metav1.Condition {
	return meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionReady)
}

func (s State) ReadyReason() string {
	if ready := s.ready(); ready != nil {
		return ready.Reason
	}
	return v1beta2.ReasonPending
}

func (s State) ReadyMessage() string {
	if ready := s.ready(); ready != nil {
		return ready.Message
	}
	return ""
}
