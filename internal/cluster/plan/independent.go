package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// independentRules are rules whose step may fail without harm to the rules after them: those look at what is there, and
// not at what the step should have done.
var independentRules = []string{
	"setRetention", "requestGrowth", "renewCertificates", "restoreLabels",
	"loadCertificates", "applyBudget", "recreateBlocked", "deleteStopped", "startMember", "releaseMember", "addToService", "relabelPods",
	"removeOrphanPods", "resizePods", "prepareMembers", "deleteOldVolumes", "deleteSetAside", "growVolumes",
}

// stoppedRules are independent if their step only deletes the object of a Pod that has stopped.
var stoppedRules = []string{"removeFailedSeed"}

// unconditionalRules stand before the repairs. Whatever error one of them ends with, the repairs must not wait for it.
var unconditionalRules = []string{"setRetention", "requestGrowth", "renewCertificates", "restoreLabels"}

// Unconditional reports whether later rules are asked after any error of a rule.
func Unconditional(rule string) bool { return slices.Contains(unconditionalRules, rule) }

// Independent reports whether the plan may go on without a step of a rule. A cluster that has not formed needs its
// Services first, but not the settings of the client Service.
func Independent(s State, rule string, step Step) bool {
	services := s.Formed() || (s.Services.HeadlessCurrent && s.Services.ClientExists)
	stopped := slices.Contains(stoppedRules, rule) && s.DeletesStopped(step)
	return stopped || slices.Contains(independentRules, rule) || (rule == "applyServices" && services)
}

// Acts reports whether a step has an effect, and does not only report or wait.
func Acts(step Step) bool {
	switch step.(type) {
	case Done, Idle, Wait, AwaitResize, Hibernating, VolumeMayFill, VersionNotAdvised:
		return false
	}
	return true
}

// NoteRefused adds to the status of a pass that the object of an earlier step was refused. before is the status that the
// pass began with: while the refusal lasts, the condition Ready has the time at which it became False.
func NoteRefused(status *v1beta2.EtcdClusterStatus, before v1beta2.EtcdClusterStatus, refusal error, generation int64, now time.Time) {
	message := refusal.Error()
	if said := status.Reason; said != "" {
		message += ". Meanwhile: " + said
	}
	if was := meta.FindStatusCondition(before.Conditions, v1beta2.ConditionReady); was != nil {
		if ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady); ready != nil {
			*ready = *was
		}
	}
	NoteError(status, message, generation, now)
}

// NoteError says in a status that a call failed. All that is known stays as it is.
func NoteError(status *v1beta2.EtcdClusterStatus, message string, generation int64, now time.Time) {
	status.Reason = message
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1beta2.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta2.ReasonReconcileError, Message: message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}
