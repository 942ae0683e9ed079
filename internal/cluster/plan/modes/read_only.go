package modes

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// spec.readOnly is the same fence as that of a restore (decision record 77), with an ID from the UID of the EtcdCluster. It is in etcd's
// data, so it outlives restarts, upgrades and a recovery from a lost quorum. The seed of a restore is fenced before it is the cluster.

// RefusesWrites reports whether etcd refuses writes because of spec.readOnly, and whether that is known.
func RefusesWrites(s state.State) (refuses, known bool) { return s.ReadOnly(), state.Answered(s) }

// RefuseWrites fences the members if the spec asks for that.
func RefuseWrites(s state.State) steps.Step {
	step := steps.FenceWrites{ID: state.ReadOnlyFence(s)}
	if !s.Spec.ReadOnly || state.ReadOnlyBySpec(s) || !state.MayFence(s) || !waits.May(s, step) {
		return nil
	}
	return step
}

// unfit reports whether a quorum answers, and a fence does not hold: it is not on, and cannot be put on, or a member runs an etcd that ignores it.
func unfit(s state.State) bool {
	holds := state.ReadOnlyBySpec(s) && !state.TooOld(s) && !slices.ContainsFunc(s.Current(), state.MayBeOlder)
	return s.Formed() && s.MembershipKnown && !holds && !state.MayFence(s)
}

// ReadOnlyNotSupported waits for a person if the spec asks for a refusal of writes that does not hold. Until then, clients can write.
func ReadOnlyNotSupported(s state.State) steps.Step {
	if !s.Spec.ReadOnly || !unfit(s) {
		return nil
	}
	return steps.Wait{Reason: v1beta2.ReasonReadOnlyNotSupported, Message: whyNotReadOnly(s), Stalled: true}
}

func whyNotReadOnly(s state.State) string {
	return fmt.Sprintf("spec.readOnly is true, but clients can write. A member runs etcd %s, or its version is not known. A refusal of writes holds from etcd %s on. "+
		"Set spec.readOnly to false, or upgrade the cluster.", state.LowestVersion(s), state.FencesFrom)
}

// ReportReadOnly says that clients cannot write, as the spec asks.
func ReportReadOnly(s state.State) steps.Step {
	if !s.ReadOnly() {
		return nil
	}
	return steps.Advice{Reason: v1beta2.ReasonReadOnly, Message: "The cluster is read-only. " + saysReadOnly(s)}
}

func saysReadOnly(s state.State) string {
	said := fmt.Sprintf("etcd acknowledges no write after revision %d. Reads and watches are served, and leases do not expire.", ReadOnlySince(s, 0))
	switch {
	case state.SwitchesOver(s):
		return said + " An EtcdBackup hands the clients over to a standby, or has done so. Its status.switchover says which, and what you can do. " +
			etcd.DisarmAdvice + "."
	case s.Spec.ReadOnly:
		return said + " To accept writes again, set spec.readOnly to false."
	case s.Spec.Paused:
		return said + " The operator accepts writes again when spec.paused is false."
	}
	return said + " The operator is about to accept writes again."
}

// ReadOnlySince returns the last revision before the fence of spec.readOnly or of a switchover; 0 if none is on. While no member answers, it is the one that
// the status has: the fence is in the data of the members.
func ReadOnlySince(s state.State, recorded int64) int64 {
	if !state.Answered(s) {
		return recorded
	}
	last := int64(0)
	for _, m := range s.Current() {
		isOne := func(a etcd.Alarm) bool { return a == state.ReadOnlyAlarm(s) || state.IsSwitchover(s, a) }
		if s.ReadOnly() && slices.ContainsFunc(m.Alarms, isOne) {
			last = max(last, m.Revision)
		}
	}
	return last
}

// SetReadOnly sets the condition ReadOnly. It is absent if nothing asks for it and nothing refuses writes. While no member answers, it stays as
// it was.
func SetReadOnly(status *v1beta2.EtcdClusterStatus, s state.State, set func(kind string, is bool, reason, message string)) {
	switch {
	case s.Spec.ReadOnly && unfit(s):
		set(v1beta2.ConditionReadOnly, false, v1beta2.ReasonReadOnlyNotSupported, whyNotReadOnly(s))
	case s.ReadOnly():
		set(v1beta2.ConditionReadOnly, true, v1beta2.ReasonReadOnly, saysReadOnly(s))
	case !s.Spec.ReadOnly && (state.Answered(s) || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReadOnly)):
		meta.RemoveStatusCondition(&status.Conditions, v1beta2.ConditionReadOnly)
	case !s.Spec.ReadOnly: // nothing has taken the fence back
	case state.Answered(s) || meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReadOnly) == nil:
		set(v1beta2.ConditionReadOnly, false, v1beta2.ReasonReadOnly, "spec.readOnly is true, but clients can write until a quorum of the members answers the operator.")
	}
}

// KeepsUnready reports whether the PodDisruptionBudget must count Pods that are not ready: they have the data of their members, or they serve reads
// behind a fence. It asks nothing that etcd answers.
func KeepsUnready(s state.State) bool {
	return state.DataInPods(s) || (s.Spec.ReadOnly || s.Services.ClientUnready) && slices.ContainsFunc(s.Current(), state.ProbesAlarm)
}

// MayBeReady reports whether a member's Pod is ready, or is one of an earlier operator that may serve behind a fence.
func MayBeReady(s state.State, m state.Member) bool {
	return m.PodReady || m.ProbesAlarm && m.Pod == state.PodRunning && (s.Spec.ReadOnly || s.Services.ClientUnready)
}

// LookBehindFences corrects what the kubelet says of Pods of an earlier operator, whose readiness probes fail for a fence alone. A member that serves
// behind a fence is ready. The time of one that does not serve counts from when the operator saw that, also if the fence was taken back since, or is
// not seen because no member answers: the Pod has not been ready since the fence.
func LookBehindFences(s *state.State) {
	corrupt := len(state.Alarms(*s, etcd.AlarmCorrupt)) > 0
	for i := range s.Members {
		m := &s.Members[i]
		switch {
		case !m.ProbesAlarm || m.PodReady || m.Beside != "":
		case !m.Serving:
			m.UnreadySince = state.Later(m.UnreadySince, m.SilentSince)
		case m.Pod == state.PodRunning && slices.ContainsFunc(m.Alarms, etcd.Alarm.IsFence) && !corrupt:
			m.PodReady, m.UnreadySince = true, time.Time{}
		}
	}
}
