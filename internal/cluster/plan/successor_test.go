package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A policy that refuses the Pods of a namespace would turn a restart, a recovery or a replacement into the loss of a member.
func TestThePodThatFollowsAStopIsKnown(t *testing.T) {
	lost := []change{formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting}
	survivor := steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartForce}
	stop := func(i int, reason string) steps.Step { return steps.DeletePod{Name: nameOf(i), Reason: reason} }
	for name, test := range map[string]struct {
		changes []change
		step    steps.Step
		want    steps.CreateMember
	}{
		"a roll":                         {[]change{formed, members(3)}, stop(1, v1beta2.ReasonRolling), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a new CA":                       {[]change{formed, members(3), noQuorum}, stop(1, v1beta2.ReasonRotatingCertificates), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a certificate without the name": {[]change{formed, members(3), noQuorum}, stop(1, v1beta2.ReasonCertificateLacksName), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a larger file system":           {[]change{formed, members(3)}, stop(1, v1beta2.ReasonResizingVolume), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a recovery stops another":       {append(lost, with(1, pod(state.PodRunning)), forcing(0)), stop(1, v1beta2.ReasonRecovering), survivor},
		"a recovery stops the survivor":  {append(lost, forcing(0)), stop(0, v1beta2.ReasonRecovering), survivor},
		"before a survivor is chosen":    {append(lost, with(1, pod(state.PodRunning))), stop(1, v1beta2.ReasonRecovering), survivor},
		"the flag is taken off":          {[]change{formed, members(1), with(0, forced)}, stop(0, v1beta2.ReasonRecovering), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin}},
		"a seed that is the cluster":     {[]change{formed, members(3)}, stop(1, v1beta2.ReasonRestoring), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a lost member is replaced":      {[]change{formed, members(3), with(2, gone)}, steps.RemoveMember{Name: nameOf(2), Cause: state.LostData}, steps.CreateMember{Name: nameOf(2), Incarnation: 1, Start: state.StartJoin}},
	} {
		got, follows := membership.Successor(stateWith(test.changes...), test.step)
		if !follows || got != test.want {
			t.Errorf("%s: %+v follows: %t, want %+v", name, got, follows, test.want)
		}
	}
}

// What does not run, or is not needed any more, is removed although no Pod is accepted now.
func TestNoPodMustFollow(t *testing.T) {
	for name, test := range map[string]struct {
		changes []change
		step    steps.Step
	}{
		"a Pod that has ended":        {[]change{formed, members(3)}, steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonMemberDown}},
		"an ended Pod in a recovery":  {[]change{formed, members(3), noQuorum, with(1, pod(state.PodEnded)), forcing(0)}, steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRecovering}},
		"a cluster that shrinks":      {[]change{formed, members(3)}, steps.RemoveMember{Name: nameOf(2)}},
		"the Pod of a removed member": {[]change{formed, members(3)}, steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonScaling}},
		"a failed seed":               {[]change{formed, members(3), with(3, pod(state.PodRunning), func(m *state.Member) { m.Incarnation = 2 })}, steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonRestoring}},
		"a prepared member": {[]change{formed, members(3), with(2, gone), with(3, pod(state.PodRunning), func(m *state.Member) { m.Waits = true })},
			steps.RemoveMember{Name: nameOf(2), Cause: state.LostData}},
	} {
		if next, follows := membership.Successor(stateWith(test.changes...), test.step); follows {
			t.Errorf("%s: the step waits for %+v", name, next)
		}
	}
}
