package restore

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// event is what is told when a status has changed.
type event struct {
	// Kind is Normal or Warning.
	Kind, Reason, Message string
}

// eventOf tells each new reason of the Ready condition once; a message that alone has changed is no event.
func eventOf(before, after v1beta2.EtcdRestoreStatus) (event, bool) {
	was := meta.FindStatusCondition(before.Conditions, v1beta2.ConditionReady)
	is := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionReady)
	if is == nil || was != nil && was.Reason == is.Reason {
		return event{}, false
	}
	kind := corev1.EventTypeNormal
	if after.Reason != "" {
		kind = corev1.EventTypeWarning
	}
	return event{Kind: kind, Reason: is.Reason, Message: is.Message}, true
}
