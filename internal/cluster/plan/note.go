package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CacheBehind says that the operator cannot act, because what it sees is older than what the API server holds. what is
// newer there. No rule returns it: the plan is asked about the old state.
func CacheBehind(what string, since time.Time) steps.Wait {
	return steps.Wait{
		Reason: v1beta2.ReasonCacheBehind,
		Message: fmt.Sprintf("The cache of the operator has been behind the API server since %s: %s. The members continue to serve, but the operator neither heals nor changes this cluster. "+
			"If this takes more than 5 minutes, check the API server and restart the Pods of the operator.", since.UTC().Format(time.RFC3339), what),
		Stalled: true,
	}
}

// MembersUnanswered is what the status says while every pass ends because members hang or answer too late.
func MembersUnanswered(members string, since time.Time) steps.Wait {
	return steps.Wait{
		Reason: v1beta2.ReasonMemberDown,
		Message: fmt.Sprintf("The operator has had no complete answer from the members since %s. These members hang or answer late: %s. The operator neither heals nor changes this cluster until all of them have answered. "+
			"If this takes more than 5 minutes, check the CPU, the disks and the network of these members and of the operator.", since.UTC().Format(time.RFC3339), members),
		Stalled: true,
	}
}

// NoteBehind writes such a wait into a status. All else that is known stays as it is.
func NoteBehind(status *v1beta2.EtcdClusterStatus, wait steps.Wait, generation int64, now time.Time) {
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

// independentRules are rules whose step may fail without harm to the rules after them: those look at what is there, and
// not at what the step should have done.
var independentRules = []string{
	"setRetention", "requestGrowth", "renewCertificates", "certifyUsers", "restoreLabels",
	"applyNetworkPolicy", "loadCertificates", "applyBudget", "recreateBlocked", "deleteStopped", "startMember", "releaseMember", "addToService", "forbidEmptyStart", "unmarkVolumes", "relabelPods", "applyMetadata",
	"removeOrphanPods", "resizePods", "prepareMembers", "setAsideOther", "deleteOldVolumes", "deleteSetAside", "growVolumes",
	"removeFailedSeed", "restartForFileSystem", "handOutCA", "requestUsers", "switchUsers",
}

// unconditionalRules stand before the repairs. Whatever error one of them ends with, the repairs must not wait for it.
var unconditionalRules = []string{"setRetention", "requestGrowth", "renewCertificates", "certifyUsers", "restoreLabels", "applyNetworkPolicy", "requestUsers"}

// Unconditional reports whether later rules are asked after any error of a rule.
func Unconditional(rule string) bool { return slices.Contains(unconditionalRules, rule) }

// Independent reports whether the plan may go on without a step of a rule. A cluster that has not formed needs its
// Services first, but not the settings of the client Service.
func Independent(s state.State, rule string, step steps.Step) bool {
	services := s.Formed() || (s.Services.HeadlessCurrent && s.Services.ClientExists)
	return slices.Contains(independentRules, rule) || (rule == "applyServices" && services)
}

// FailureLimit is how long passes may fail before a person must look.
const FailureLimit = state.WaitLimit

// NoteRefused adds to the status of a pass that the object of an earlier step was refused. What the API server refuses, and what
// belongs to others, is for a person to correct.
func NoteRefused(status *v1beta2.EtcdClusterStatus, message, reason string, generation int64, now time.Time) {
	if said := status.Reason; said != "" {
		message = planning.Sentence("", message) + " Meanwhile: " + said
	}
	NoteError(status, message, reason, generation, now)
	if reason != v1beta2.ReasonReconcileError {
		NoteStalled(status, time.Time{}, generation, now)
	}
}

// KeepTransitions gives each condition whose status is that of before the time of its last transition. A note that takes back what
// NewStatus wrote is no transition, and a time that changes in each pass would be a write in each pass.
func KeepTransitions(status *v1beta2.EtcdClusterStatus, before v1beta2.EtcdClusterStatus) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if was := meta.FindStatusCondition(before.Conditions, c.Type); was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
}

// NoteError says in a status that a call failed. All that is known stays as it is.
func NoteError(status *v1beta2.EtcdClusterStatus, message, reason string, generation int64, now time.Time) {
	status.Reason = message
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1beta2.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// NoteStalled says that what the condition Ready reports is for a person to correct, because it has lasted since a time, or because it does
// not pass by itself.
func NoteStalled(status *v1beta2.EtcdClusterStatus, since time.Time, generation int64, now time.Time) {
	ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady)
	if ready == nil {
		return
	}
	stalled := metav1.Condition{
		Type: v1beta2.ConditionStalled, Status: metav1.ConditionTrue, Reason: ready.Reason, Message: ready.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
	if !since.IsZero() {
		stalled.Message = planning.Sentence("", stalled.Message) + " This has failed since " + since.UTC().Format(time.RFC3339) + "."
	}
	meta.SetStatusCondition(&status.Conditions, stalled)
	status.Phase = v1beta2.ClusterPhaseFailed
}

// RefusalEvents are those of a pass in which an object was refused.
func RefusalEvents(reason, message string, statusChanged bool) []planning.Event {
	if !statusChanged {
		return nil
	}
	return []planning.Event{{Type: corev1.EventTypeWarning, Reason: reason, Action: "Reconcile", Note: planning.Shorten(message, planning.MaxNote)}}
}
