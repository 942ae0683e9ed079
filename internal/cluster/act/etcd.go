package act

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// defragmentTimeout is how long a pass waits. After that the member continues by itself, and answers when it is done.
const defragmentTimeout = 10 * time.Second

// actOnEtcd does the steps that ask something of etcd.
func (a *etcdActs) actOnEtcd(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.AddLearner:
		return a.addMember(ctx, v, step)
	case steps.PromoteLearner:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.Promote(ctx, step.ID) })
	case steps.RemoveMember:
		if err := a.rehearsals.RehearseSuccessor(ctx, v, step); err != nil {
			return err
		}
		return a.ChangeMembers(ctx, v, step, step.Name, func(member members.Etcd) error { return member.Remove(ctx, step.ID) })
	case steps.MoveLeader:
		return a.With(ctx, v, step.From, func(member members.Etcd) error { return member.MoveLeader(ctx, step.To) })
	case steps.EnableDowngrade:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.EnableDowngrade(ctx, step.To) })
	case steps.CancelDowngrade:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.CancelDowngrade(ctx) })
	case steps.CompactHistory:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.Compact(ctx, step.Revision) })
	case steps.DisarmAlarm:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.Disarm(ctx, step.Alarm) })
	case steps.FenceWrites:
		return a.Fence(ctx, v, step)
	case steps.UnfenceWrites:
		return a.WithServing(ctx, v, "", func(member members.Etcd) error { return member.Unfence(ctx, step.ID) })
	case steps.ChangeAccounts:
		return a.changeAccounts(ctx, v)
	case steps.DefragmentMember:
		return a.With(ctx, v, step.Name, func(member members.Etcd) error {
			ctx, cancel := context.WithTimeout(ctx, defragmentTimeout)
			defer cancel()
			return member.Defragment(ctx)
		})
	default:
		return fmt.Errorf("step %T is not about etcd", step)
	}
}

// addMember adds a learner, which is started once it is known. A voter is started first: it counts at once, and with
// it the first member of a cluster has no quorum until the second runs, nor can it tell who is to be started.
func (a *etcdActs) addMember(ctx context.Context, v *view.View, step steps.AddLearner) error {
	if step.Voter {
		if err := a.pods.createMember(ctx, v, steps.CreateMember{Name: step.Name, Incarnation: v.Incarnation, Start: state.StartJoin}); err != nil {
			return err
		}
	}
	if m, _ := state.Find(v.State, step.Name); !step.Voter && !m.Waits {
		if err := a.rehearsals.Rehearse(ctx, v, step.Name, state.StartJoin); err != nil {
			return err
		}
	}
	return a.ChangeMembers(ctx, v, step, "", func(member members.Etcd) error {
		if step.Voter {
			return member.AddVoter(ctx, step.PeerURL)
		}
		return member.AddLearner(ctx, step.PeerURL)
	})
}
