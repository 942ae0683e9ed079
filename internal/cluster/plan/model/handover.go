package model

import (
	"maps"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// checkMove: what is done to all members is done to the leader last, so that leadership moves once. Why it moves, a step
// does not say; so the plan is asked what it would do next if there were nothing to do about the leader. To do the same
// to another member is to have moved leadership too early.
func (w *World) checkMove(l *life) {
	s, room := w.Observe(), v1beta2.ReasonDefragmenting
	if l != nil && l.noSpace != 0 {
		room = v1beta2.ReasonNoSpace // a run of the schedule comes after that, and moves it once more
	}
	leader := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Incarnation == s.Incarnation && m.Leader })
	if leader < 0 {
		return
	}
	m := &s.Members[leader]

	asIs := s.Defragmented
	s.Defragmented = maps.Clone(asIs)
	if s.Defragmented == nil {
		s.Defragmented = map[string]time.Time{}
	}
	s.Defragmented[m.Name] = s.Now
	if next, is := plan.Plan(s).(steps.DefragmentMember); is && next.Reason == room {
		w.violate(LeaderLast, "leadership moves from %s before %s is defragmented", m.Name, next.Name)
	}

	s.Defragmented = asIs
	m.PodImage, m.Outdated, m.Start = s.Spec.Image(), false, state.StartRejoin
	if begins, is := plan.Plan(s).(steps.BeginRemoval); is {
		s.Removing = begins.Voter
	}
	switch next := plan.Plan(s).(type) {
	case steps.RemoveMember:
		if next.Cause == state.PodRecreated {
			w.violate(LeaderLast, "leadership moves from %s before %s is replaced", m.Name, next.Name)
		}
	case steps.DeletePod:
		if next.Reason == v1beta2.ReasonUpgrading || next.Reason == v1beta2.ReasonRolling {
			w.violate(LeaderLast, "leadership moves from %s before %s is restarted", m.Name, next.Name)
		}
	}
}
