package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A policy that refuses the Pods of a namespace would turn a restart, a recovery or a replacement into the loss of a member.
func TestThePodThatFollowsAStopIsKnown(t *testing.T) {
	lost := []plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.Consenting}
	survivor := steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartForce}
	stop := func(i int, reason string) steps.Step {
		return steps.DeletePod{Name: plantest.NameOf(i), Reason: reason}
	}
	for name, test := range map[string]struct {
		changes []plantest.Change
		step    steps.Step
		want    steps.CreateMember
	}{
		"a roll":                         {[]plantest.Change{plantest.Formed, plantest.Members(3)}, stop(1, v1beta2.ReasonRolling), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a new CA":                       {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum}, stop(1, v1beta2.ReasonRotatingCertificates), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a certificate without the name": {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum}, stop(1, v1beta2.ReasonCertificateLacksName), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a larger file system":           {[]plantest.Change{plantest.Formed, plantest.Members(3)}, stop(1, v1beta2.ReasonResizingVolume), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a recovery stops another":       {append(lost, plantest.With(1, plantest.Pod(state.PodRunning)), plantest.Forcing(0)), stop(1, v1beta2.ReasonRecovering), survivor},
		"a recovery stops the survivor":  {append(lost, plantest.Forcing(0)), stop(0, v1beta2.ReasonRecovering), survivor},
		"before a survivor is chosen":    {append(lost, plantest.With(1, plantest.Pod(state.PodRunning))), stop(1, v1beta2.ReasonRecovering), survivor},
		"the flag is taken off":          {[]plantest.Change{plantest.Formed, plantest.Members(1), plantest.With(0, plantest.Forced)}, stop(0, v1beta2.ReasonRecovering), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}},
		"a seed that is the cluster":     {[]plantest.Change{plantest.Formed, plantest.Members(3)}, stop(1, v1beta2.ReasonRestoring), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a lost member is replaced":      {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Gone)}, steps.RemoveMember{Name: plantest.NameOf(2), Cause: state.LostData}, steps.CreateMember{Name: plantest.NameOf(2), Incarnation: 1, Start: state.StartJoin}},
	} {
		got, follows := membership.Successor(plantest.StateWith(test.changes...), test.step)
		if !follows || got != test.want {
			t.Errorf("%s: %+v follows: %t, want %+v", name, got, follows, test.want)
		}
	}
}

// What does not run, or is not needed any more, is removed although no Pod is accepted now.
func TestNoPodMustFollow(t *testing.T) {
	for name, test := range map[string]struct {
		changes []plantest.Change
		step    steps.Step
	}{
		"a Pod that has ended":        {[]plantest.Change{plantest.Formed, plantest.Members(3)}, steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonMemberDown}},
		"an ended Pod in a recovery":  {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Pod(state.PodEnded)), plantest.Forcing(0)}, steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRecovering}},
		"a cluster that shrinks":      {[]plantest.Change{plantest.Formed, plantest.Members(3)}, steps.RemoveMember{Name: plantest.NameOf(2)}},
		"the Pod of a removed member": {[]plantest.Change{plantest.Formed, plantest.Members(3)}, steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonScaling}},
		"a failed seed":               {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Pod(state.PodRunning), func(m *state.Member) { m.Incarnation = 2 })}, steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonRestoring}},
		"a prepared member": {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Pod(state.PodRunning), func(m *state.Member) { m.Waits = true })},
			steps.RemoveMember{Name: plantest.NameOf(2), Cause: state.LostData}},
	} {
		if next, follows := membership.Successor(plantest.StateWith(test.changes...), test.step); follows {
			t.Errorf("%s: the step waits for %+v", name, next)
		}
	}
}
