package waits

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ResolvesSoon returns whether a member can be added as soon as the name of its Pod resolves, which no watch reports.
func ResolvesSoon(s state.State) bool {
	return AddsAhead(s) && slices.ContainsFunc(state.WaitingPods(s), func(m state.Member) bool { return !m.AddressSince.IsZero() && !state.Resolves(s, m) })
}

// AddsAhead returns whether the cluster lacks members and one could be added.
func AddsAhead(s state.State) bool {
	_, learning := s.Learner()
	_, held := state.ForeignLearner(s)
	return s.Formed() && s.MembershipKnown && state.Lacking(s) > 0 && !learning && !held &&
		state.SupportsLearners(state.LowestVersion(s)) && CannotAdd(s) == nil
}

// ForeignMembers stops the plan if a cluster that has not formed has members that it was not bootstrapped with. They belong
// to another operator, or the status and the client Service were lost. The operator changes neither them nor the Service
// that their clients use. A restore may replace them.
func ForeignMembers(s state.State) steps.Step {
	if s.Formed() || s.Request != nil || s.Restoring() {
		return nil
	}
	for _, m := range s.Members {
		failedSeed := s.Restore != nil && m.Incarnation == s.Restore.Incarnation
		there := m.Pod != state.PodNone || m.Volume != state.VolumeNone
		if m.InitialSize == 0 && there && !failedSeed {
			return steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + m.Name + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			}
		}
	}
	return nil
}

// NoStorageClass waits for a default StorageClass.
func NoStorageClass() steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonNoStorageClass,
		Message: "Kubernetes has no default StorageClass, so a member gets no volume and does not start. " +
			"Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. " +
			"For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod.",
		Stalled: true,
	}
}

// OutgrowsBudget waits with the vote of a learner while the PodDisruptionBudget cannot be raised for it: drains could then take quorum. If the
// budget does not protect the present quorum either, nothing is lost by the vote.
func OutgrowsBudget(s state.State, learner state.Member) steps.Step {
	b, voters, want := s.Budget, s.Voters().Total, state.MinAvailable(s)
	if !b.Exists || b.Other != "" || b.MinAvailable >= want || b.MinAvailable < etcd.Quorum(voters) {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonScaling,
		Message: fmt.Sprintf("Learner %s gets its vote when the PodDisruptionBudget is raised. It lets drains leave %d members, and a quorum of %d voters is %d.",
			learner.Name, b.MinAvailable, voters+1, etcd.Quorum(voters+1)),
	}
}

// WaitForForeignLearner holds a change of the membership: etcd accepts one learner at a time, and so does the operator.
func WaitForForeignLearner(s state.State) steps.Step {
	if m, is := state.ForeignLearner(s); is {
		return WaitForPersonAbout(s, m)
	}
	return nil
}

// WaitForForeignVoters holds a restart that would leave no quorum if the foreign voters are down.
func WaitForForeignVoters(s state.State) steps.Step {
	if state.ForeignVoters(s) == 0 || s.Voters().KeepsQuorumWhileStopped(true) {
		return nil
	}
	i := slices.IndexFunc(s.ForeignMembers, func(m state.ForeignMember) bool { return !m.Learner })
	return WaitForPersonAbout(s, s.ForeignMembers[i])
}

// WaitForPersonAbout reports a foreign member.
func WaitForPersonAbout(s state.State, m state.ForeignMember) steps.Step {
	what := fmt.Sprintf("Member %s is in the cluster, and the operator did not add it. The operator has seen it since %s. ", m.Label(), m.Since.UTC().Format(time.RFC3339))
	voters := s.Voters()
	if m.Learner {
		what += "It has no vote. Until it is removed, the operator adds and removes no other member, and does not change the minor version of etcd. "
	} else {
		what += fmt.Sprintf("It votes: quorum is %d of %d voters, and the operator runs %d of them. Until it is removed, the operator restarts a member only if quorum holds, and does not change the minor version of etcd. ",
			etcd.Quorum(voters.Total), voters.Total, voters.Total-state.ForeignVoters(s))
	}
	return steps.Wait{Reason: v1beta2.ReasonForeignMember, Message: what + state.WayOutOfForeign(s, m), Stalled: true, Requeue: state.RequeueForeign}
}

// learnersFail waits, before another member is added, after several did not start or did not catch up: each of them may copy the database from
// the leader, which slows the cluster down. The status has one count for both, so the message names both.
func learnersFail(s state.State) steps.Step {
	last := clock.Done(s.LearnerFailedAt, s.Now)
	if s.LearnerFailures < state.MaxLearnerFailures || last.IsZero() {
		return nil
	}
	next := last.Add(min(state.LearnerPause<<min(s.LearnerFailures-state.MaxLearnerFailures, 8), state.MaxLearnerPause))
	if !s.Now.Before(next) {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonLearnerTooSlow, Stalled: true, Requeue: state.RequeueSettled,
		Message: fmt.Sprintf("%d new members in a row did not start, or did not catch up with the leader, within %s. The operator removed them, and each event ReplacingMember has the cause. %d of %d members vote. "+
			"If their Pods did not start, check that the nodes can attach and mount the volumes. If they did not catch up, check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at %s.",
			s.LearnerFailures, duration.HumanDuration(state.CatchUpTime(s)), s.Voters().Total, s.Spec.Size, next.UTC().Format(time.RFC3339)),
	}
}

// MoveLeader hands leadership to a healthy voter. It prefers one that is not about to be replaced.
func MoveLeader(s state.State, from state.Member) steps.Step {
	var move steps.Step
	for _, m := range s.Membership() {
		if m.Learner || !m.Serving || m.ID == from.ID {
			continue
		}
		if steps.LeavingCause(s, m) == "" && !state.ShouldNotLead(s, m.Name) {
			return steps.MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
		if move == nil {
			move = steps.MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
	}
	return move
}

// CannotAdd is why no member can be added now.
func CannotAdd(s state.State) steps.Step {
	if s.Durable() && s.NoStorageClass {
		return NoStorageClass()
	}
	if state.NextName(s) == "" {
		return steps.Wait{
			Reason: v1beta2.ReasonScaling, Stalled: true,
			Message: fmt.Sprintf("No member can be added: volumes, Pods and annotations have all %d names of members. %s ", state.MaxOrdinal, state.Impact(s)) +
				"Remove names from the annotations of the EtcdCluster, or delete volumes in status.replacedVolumes that you do not need.",
		}
	}
	return learnersFail(s)
}
