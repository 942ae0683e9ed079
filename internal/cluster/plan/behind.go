package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// CacheBehind says that the operator cannot act, because what it sees is older than what the API server holds. what is
// newer there. No rule returns it: the plan is asked about the old state.
func CacheBehind(what string, since time.Time) Wait {
	return Wait{
		Reason: v1beta2.ReasonCacheBehind,
		Message: fmt.Sprintf("The cache of the operator has been behind the API server since %s: %s. The members continue to serve, but the operator neither heals nor changes this cluster. "+
			"If this takes more than 5 minutes, check the API server and restart the Pods of the operator.", since.UTC().Format(time.RFC3339), what),
		Stalled: true,
	}
}

// MembersUnanswered is what the status says while every pass ends because members hang or answer too late.
func MembersUnanswered(members string, since time.Time) Wait {
	return Wait{
		Reason: v1beta2.ReasonMemberDown,
		Message: fmt.Sprintf("The operator has had no complete answer from the members since %s. These members hang or answer late: %s. The operator neither heals nor changes this cluster until all of them have answered. "+
			"If this takes more than 5 minutes, check the CPU, the disks and the network of these members and of the operator.", since.UTC().Format(time.RFC3339), members),
		Stalled: true,
	}
}

// NoteBehind writes such a wait into a status. All else that is known stays as it is.
func NoteBehind(status *v1beta2.EtcdClusterStatus, wait Wait, generation int64, now time.Time) {
	status.Reason = wait.Message
	for kind, is := range map[string]metav1.ConditionStatus{
		v1beta2.ConditionReady: metav1.ConditionFalse, v1beta2.ConditionProgressing: metav1.ConditionFalse, v1beta2.ConditionStalled: metav1.ConditionTrue,
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: wait.Reason, Message: wait.Message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
}
