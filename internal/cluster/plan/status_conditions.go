package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// conditionTypes are all that an EtcdCluster has. Others are those of the archived operator, which nobody would
// take back (Scaling, say).
var conditionTypes = []string{
	v1beta2.ConditionReady, v1beta2.ConditionAvailable, v1beta2.ConditionProgressing, v1beta2.ConditionDegraded, v1beta2.ConditionStalled,
	v1beta2.ConditionReadOnly,
}

// setConditions words the pass for people and for tools.
func setConditions(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step, actErr error, generation int64) {
	set := func(kind string, is bool, reason, message string) {
		value := metav1.ConditionFalse
		if is {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(s.Now),
		})
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool { return !slices.Contains(conditionTypes, c.Type) })
	description := steps.Describe(s, step)
	reason, message := description.Reason, description.Message
	wait, waiting := step.(steps.Wait)
	_, idle := step.(steps.Idle)
	_, done := step.(steps.Done)
	_, atRest := step.(steps.Hibernating)
	warns := false
	switch step.(type) {
	case steps.VolumeMayFill, steps.Advice:
		warns = true
	}
	done = done || atRest || warns // as the spec asks
	if actErr != nil {
		reason, message, done = v1beta2.ReasonReconcileError, actErr.Error(), false
	}
	set(v1beta2.ConditionReady, done, reason, message)
	set(v1beta2.ConditionProgressing, !done && !idle && !wait.Stalled, reason, message)
	stalled := waiting && wait.Stalled && actErr == nil
	set(v1beta2.ConditionStalled, stalled, reason, message)
	setServing(status, s, reason, generation, set)
	modes.SetReadOnly(status, s, set)
	status.Phase, status.Reason = phaseOf(s, stalled), ""
	if !done {
		status.Reason = message
	}
}

func whereToConnect(s state.State) string {
	if state.IsForeign(s, "Service", s.ClientService()) {
		return "A quorum serves. Service " + s.ClientService() + " belongs to something else, so it does not select the members."
	}
	return fmt.Sprintf("A quorum serves. Connect to %s:%d.", s.ClientService(), v1beta2.ClientPort)
}

// whetherFull says that etcd refuses writes. The step, and so the other conditions, may be about something else.
func whetherFull(s state.State) string {
	if len(state.Alarms(s, etcd.AlarmNoSpace)) == 0 {
		return ""
	}
	return " The space quota is used up, and etcd refuses writes. Reads and deletions still work."
}

// setServing sets the conditions that say how well clients are served. reason is that of the step.
func setServing(status *v1beta2.EtcdClusterStatus, s state.State, reason string, generation int64, set func(kind string, is bool, reason, message string)) {
	unknown, briefly := state.QuorumUnknown(s)
	if unknown && !briefly {
		setUnknown(status, s, generation)
		return
	}
	available, whyNot := available(s)
	degraded, which := degraded(s)
	sleep, asleep := modes.Hibernate(s).(steps.Hibernating) // also while a volume of a cluster that hibernates is protected
	asleep = asleep && !s.Deleting
	switch {
	case available || briefly:
		set(v1beta2.ConditionAvailable, true, v1beta2.ReasonReady, whereToConnect(s)+whetherFull(s)+whetherFenced(s))
	case asleep:
		set(v1beta2.ConditionAvailable, false, v1beta2.ReasonHibernated, sleep.Message)
	default:
		set(v1beta2.ConditionAvailable, false, unavailableReason(s, reason), whyNot)
	}
	switch {
	case degraded && asleep:
		set(v1beta2.ConditionDegraded, false, v1beta2.ReasonHibernated, sleep.Message)
	case degraded:
		set(v1beta2.ConditionDegraded, true, v1beta2.ReasonMemberDown, which)
	default:
		set(v1beta2.ConditionDegraded, false, v1beta2.ReasonReady, "")
	}
}

// whetherFenced says that a fence is on.
func whetherFenced(s state.State) string {
	switch {
	case len(state.Fences(s)) == 0:
		return ""
	case state.SwitchesOver(s):
		return " etcd refuses writes, because an EtcdBackup hands the clients over to a standby. Reads work."
	case s.ReadOnly() && s.Spec.ReadOnly:
		return " etcd refuses writes, because spec.readOnly is true. Reads work."
	}
	return " A fence is on, and etcd refuses changes of keys. Reads work."
}

// setUnknown sets the conditions that are unknown while the operator cannot reach the members.
func setUnknown(status *v1beta2.EtcdClusterStatus, s state.State, generation int64) {
	for _, kind := range []string{v1beta2.ConditionAvailable, v1beta2.ConditionDegraded} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionUnknown, Reason: v1beta2.ReasonMembersUnreachable, Message: recovery.WhyUnreachable(s),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(s.Now),
		})
	}
}

func unavailableReason(s state.State, reason string) string {
	if s.Formed() && reason == v1beta2.ReasonReady {
		return v1beta2.ReasonMemberDown
	}
	return reason
}

// available: a quorum of the incarnation that clients are led to serves.
func available(s state.State) (bool, string) {
	if !s.Formed() {
		return false, "The cluster has not formed yet."
	}
	if len(state.Alarms(s, etcd.AlarmCorrupt)) > 0 {
		return false, "A CORRUPT alarm is on, and etcd refuses requests."
	}
	for _, m := range s.Current() {
		if (m.Serving || m.Guarded) && m.InService && m.Beside == "" && m.Gate == "" {
			return true, ""
		}
	}
	if i := slices.IndexFunc(s.Current(), func(m state.Member) bool { return m.Serving && m.Beside+m.Gate != "" }); i >= 0 {
		m := s.Current()[i]
		return false, planning.Sentence("A quorum serves, but no Pod is ready, so the client Service selects no member. Member "+m.Name+": ", cmp.Or(m.Beside, m.Gate))
	}
	return false, planning.Sentence("No member serves: ", state.Unanswered(s.Current()))
}

// degraded: a formed cluster with a voter that does not serve, or with fewer voters than its spec asks for.
func degraded(s state.State) (bool, string) {
	if !s.Formed() {
		return false, ""
	}
	down := s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && !m.Learner && !m.Serving && !m.Guarded && !state.Briefly(s, m) && (m.InMembership || !s.MembershipKnown)
	})
	var said []string
	if len(down) > 0 {
		said = append(said, planning.Sentence("These members do not serve: ", state.Unanswered(down)))
	}
	for _, m := range s.Current() {
		if m.Serving && state.BesideFor(s, m, state.StartGrace) {
			said = append(said, planning.Sentence("Member "+m.Name+": ", m.Beside))
		}
	}
	if missing := missing(s); missing > 0 {
		said = append(said, fmt.Sprintf("%d of %d voters are missing.", missing, max(s.Spec.Size, len(s.KnownVoters))))
	}
	return len(said) > 0, strings.Join(said, " ")
}

// missing counts the voters that the spec asks for and that there are not. Without a quorum to tell, those count that
// there were and of which nothing is left.
func missing(s state.State) int {
	if s.MembershipKnown {
		return s.Spec.Size - s.Voters().Total
	}
	return len(slices.DeleteFunc(slices.Clone(s.KnownVoters), func(voter string) bool {
		_, there := state.Find(s, voter)
		return there
	}))
}

func phaseOf(s state.State, stalled bool) v1beta2.ClusterPhase {
	switch {
	case stalled:
		return v1beta2.ClusterPhaseFailed
	case !s.Formed():
		return v1beta2.ClusterPhaseCreating
	}
	return v1beta2.ClusterPhaseRunning
}
