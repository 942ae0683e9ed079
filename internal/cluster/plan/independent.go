package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// independentRules are rules whose step may fail without harm to the rules after them: those look at what is there, and
// not at what the step should have done.
var independentRules = []string{
	"setRetention", "requestGrowth", "renewCertificates", "restoreLabels",
	"applyNetworkPolicy", "loadCertificates", "applyBudget", "recreateBlocked", "deleteStopped", "startMember", "releaseMember", "addToService", "forbidEmptyStart", "unmarkVolumes", "relabelPods", "applyMetadata",
	"removeOrphanPods", "resizePods", "prepareMembers", "setAsideOther", "deleteOldVolumes", "deleteSetAside", "growVolumes",
	"removeFailedSeed", "restartForFileSystem",
}

// unconditionalRules stand before the repairs. Whatever error one of them ends with, the repairs must not wait for it.
var unconditionalRules = []string{"setRetention", "requestGrowth", "renewCertificates", "restoreLabels", "applyNetworkPolicy"}

// Unconditional reports whether later rules are asked after any error of a rule.
func Unconditional(rule string) bool { return slices.Contains(unconditionalRules, rule) }

// Independent reports whether the plan may go on without a step of a rule. A cluster that has not formed needs its
// Services first, but not the settings of the client Service.
func Independent(s state.State, rule string, step Step) bool {
	services := s.Formed() || (s.Services.HeadlessCurrent && s.Services.ClientExists)
	return slices.Contains(independentRules, rule) || (rule == "applyServices" && services)
}

// Acts reports whether a step has an effect, and does not only report or wait.
func Acts(step Step) bool {
	switch step.(type) {
	case Done, Idle, Wait, AwaitResize, Hibernating, VolumeMayFill, Advice:
		return false
	}
	return true
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
