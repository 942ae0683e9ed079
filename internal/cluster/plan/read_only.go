package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// spec.readOnly is the same fence as that of a restore (decision record 77), with an ID from the UID of the EtcdCluster. It is in etcd's
// data, so it outlives restarts, upgrades and a recovery from a lost quorum. The seed of a restore is fenced before it is the cluster.

// ReadOnlyFence returns the ID of the fence of spec.readOnly.
func (s State) ReadOnlyFence() etcd.ID { return etcd.FenceID(s.UID) }

func (s State) readOnlyAlarm() etcd.Alarm {
	return etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: s.ReadOnlyFence()}
}

// readOnly reports whether the fence of spec.readOnly is on. The spec may not ask for it any more.
func (s State) readOnly() bool { return slices.Contains(s.fences(), s.readOnlyAlarm()) }

// RefusesWrites reports whether etcd refuses writes because of spec.readOnly, and whether that is known.
func (s State) RefusesWrites() (refuses, known bool) { return s.readOnly(), s.answered() }

// refuseWrites fences the members if the spec asks for that.
func refuseWrites(s State) Step {
	step := FenceWrites{ID: s.ReadOnlyFence()}
	if !s.Spec.ReadOnly || s.readOnly() || !s.mayFence() || !s.may(step) {
		return nil
	}
	return step
}

// fenceSeed fences a seed that is about to be the cluster, so that a read-only cluster accepts no write after a restore. It returns nil if the
// seed is fenced, or if that is not asked for or does not hold.
func (s State) fenceSeed() Step {
	seed, _ := s.seed()
	if !s.Spec.ReadOnly || etcdversion.Older(seed.Version, fencesFrom) || slices.Contains(seed.Alarms, s.readOnlyAlarm()) {
		return nil
	}
	return FenceWrites{ID: s.ReadOnlyFence(), Seed: seed.Name}
}

// unfit reports whether a quorum answers, and a fence does not hold: it is not on, and cannot be put on, or a member runs an etcd that ignores it.
func (s State) unfit() bool {
	holds := s.readOnly() && !s.tooOld() && !slices.ContainsFunc(s.Current(), mayBeOlder)
	return s.Formed() && s.MembershipKnown && !holds && !s.mayFence()
}

// readOnlyNotSupported waits for a person if the spec asks for a refusal of writes that does not hold. Until then, clients can write.
func readOnlyNotSupported(s State) Step {
	if !s.Spec.ReadOnly || !s.unfit() {
		return nil
	}
	return Wait{Reason: v1beta2.ReasonReadOnlyNotSupported, Message: s.whyNotReadOnly(), Stalled: true}
}

func (s State) whyNotReadOnly() string {
	return fmt.Sprintf("spec.readOnly is true, but clients can write. A member runs etcd %s, or its version is not known. A refusal of writes holds from etcd %s on. "+
		"Set spec.readOnly to false, or upgrade the cluster.", s.lowestVersion(), fencesFrom)
}

// reportReadOnly says that clients cannot write, as the spec asks.
func reportReadOnly(s State) Step {
	if !s.readOnly() {
		return nil
	}
	return Advice{Reason: v1beta2.ReasonReadOnly, Message: "spec.readOnly is true. " + s.saysReadOnly()}
}

func (s State) saysReadOnly() string {
	said := fmt.Sprintf("etcd acknowledges no write after revision %d. Reads and watches are served, and leases do not expire.", s.readOnlySince(0))
	switch {
	case s.Spec.ReadOnly:
		return said + " To accept writes again, set spec.readOnly to false."
	case s.Spec.Paused:
		return said + " The operator accepts writes again when spec.paused is false."
	}
	return said + " The operator is about to accept writes again."
}

// readOnlySince returns the last revision before the fence of spec.readOnly; 0 if that is not on. While no member answers, it is the one that
// the status has: the fence is in the data of the members.
func (s State) readOnlySince(recorded int64) int64 {
	if !s.answered() {
		return recorded
	}
	last := int64(0)
	for _, m := range s.Current() {
		if s.readOnly() && slices.Contains(m.Alarms, s.readOnlyAlarm()) {
			last = max(last, m.Revision)
		}
	}
	return last
}

// setReadOnly sets the condition ReadOnly. It is absent if nothing asks for it and nothing refuses writes. While no member answers, it stays as
// it was.
func setReadOnly(status *v1beta2.EtcdClusterStatus, s State, set func(kind string, is bool, reason, message string)) {
	switch {
	case s.Spec.ReadOnly && s.unfit():
		set(v1beta2.ConditionReadOnly, false, v1beta2.ReasonReadOnlyNotSupported, s.whyNotReadOnly())
	case s.readOnly():
		set(v1beta2.ConditionReadOnly, true, v1beta2.ReasonReadOnly, s.saysReadOnly())
	case !s.Spec.ReadOnly && (s.answered() || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReadOnly)):
		meta.RemoveStatusCondition(&status.Conditions, v1beta2.ConditionReadOnly)
	case !s.Spec.ReadOnly: // nothing has taken the fence back
	case s.answered() || meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReadOnly) == nil:
		set(v1beta2.ConditionReadOnly, false, v1beta2.ReasonReadOnly, "spec.readOnly is true, but clients can write until a quorum of the members answers the operator.")
	}
}

// servesUnready reports whether the client Service must select members whose Pods are not ready. Pods of an earlier operator are not ready while
// writes are refused. After that, the Service waits until they are.
func (s State) servesUnready() bool {
	if !slices.ContainsFunc(s.Current(), probesAlarm) {
		return false
	}
	stillUnready := func(m Member) bool { return m.ProbesAlarm && m.InService && !m.PodReady }
	return s.Spec.ReadOnly || s.readOnly() || s.Services.ClientUnready && slices.ContainsFunc(s.Current(), stillUnready)
}

// KeepsUnready reports whether the PodDisruptionBudget must count Pods that are not ready: they have the data of their members, or they serve reads
// behind a fence. It asks nothing that etcd answers.
func (s State) KeepsUnready() bool {
	return s.DataInPods() || (s.Spec.ReadOnly || s.Services.ClientUnready) && slices.ContainsFunc(s.Current(), probesAlarm)
}

// probesAlarm also counts a member that does not vote yet: the client Service and the budget are ready before it does.
func probesAlarm(m Member) bool { return m.ProbesAlarm }

// MayBeReady reports whether a member's Pod is ready, or is one of an earlier operator that may serve behind a fence.
func (s State) MayBeReady(m Member) bool {
	return m.PodReady || m.ProbesAlarm && m.Pod == PodRunning && (s.Spec.ReadOnly || s.Services.ClientUnready)
}

// LookBehindFences corrects what the kubelet says of Pods of an earlier operator, whose readiness probes fail for a fence alone. A member that serves
// behind a fence is ready. The time of one that does not serve counts from when the operator saw that, also if the fence was taken back since, or is
// not seen because no member answers: the Pod has not been ready since the fence.
func (s *State) LookBehindFences() {
	corrupt := len(s.Alarms(etcd.AlarmCorrupt)) > 0
	for i := range s.Members {
		m := &s.Members[i]
		switch {
		case !m.ProbesAlarm || m.PodReady || m.Beside != "":
		case !m.Serving:
			m.UnreadySince = later(m.UnreadySince, m.SilentSince)
		case m.Pod == PodRunning && slices.ContainsFunc(m.Alarms, etcd.Alarm.IsFence) && !corrupt:
			m.PodReady, m.UnreadySince = true, time.Time{}
		}
	}
}
