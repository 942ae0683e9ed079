package act

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// change is a change of the membership, or of who leads. etcd refuses what it would refuse. A change is a write
// like any other: a majority of those who were members before has it.
func change(w *world.World, s state.State, step steps.Step) error {
	if fence, is := step.(steps.FenceWrites); is && fence.Seed != "" {
		return fenceSeed(w, s, fence)
	}
	l := observe.Asked(w, &s)
	if l == nil {
		return changeless(step)
	}
	if l.Leader == 0 {
		return fmt.Errorf("no leader: %w", etcd.ErrNotYet)
	}
	switch step.(type) {
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember:
		if w.EtcdRefuses {
			return fmt.Errorf("etcdserver: unhealthy cluster: %w", etcd.ErrNotYet)
		}
	}
	switch step := step.(type) {
	case steps.AddLearner:
		if step.Voter {
			create(w, s, steps.CreateMember{Name: step.Name, Incarnation: s.Incarnation, Start: state.StartJoin})
		}
		return raft.Add(w, l, step)
	case steps.EnableDowngrade:
		return raft.EnableDowngrade(w, l, step)
	case steps.CancelDowngrade:
		l.Downgrade = 0
	case steps.PromoteLearner:
		return raft.Promote(w, l, step.ID)
	case steps.RemoveMember:
		return raft.Remove(w, l, step.ID)
	case steps.MoveLeader:
		to := l.ByID(step.To)
		if to == nil || to.Learner || !raft.Up(w, l, to) {
			return fmt.Errorf("move leader to %s: %w", step.To, raft.ErrUnknownMember)
		}
		l.Leader = to.ID
	case steps.FenceWrites:
		l.Fence(step.ID)
		w.FencedAt = l.FirstRevision + int64(l.Index)
	case steps.UnfenceWrites:
		l.Fences = slices.DeleteFunc(l.Fences, func(id etcd.ID) bool { return id == step.ID })
	default:
		return changeSpace(w, l, step)
	}
	return nil
}

// changeless: steps that change nothing but the status need no etcd.
func changeless(step steps.Step) error {
	switch step.(type) {
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember, steps.MoveLeader, steps.EnableDowngrade, steps.CancelDowngrade,
		steps.CompactHistory, steps.DefragmentMember, steps.DisarmAlarm, steps.FenceWrites, steps.UnfenceWrites:
		return fmt.Errorf("no member serves: %w", etcd.ErrNotYet)
	}
	return nil
}

// fenceSeed fences the seed of the restore under way.
func fenceSeed(w *world.World, s state.State, step steps.FenceWrites) error {
	seed := w.LifeOf(s.Restore.Incarnation)
	if seed == nil || seed.Leader == 0 {
		return fmt.Errorf("seed %s does not serve: %w", step.Seed, etcd.ErrNotYet)
	}
	seed.Fence(step.ID)
	return nil
}

// changeSpace does what the steps about it do, on every member that is up.
func changeSpace(w *world.World, l *world.Life, step steps.Step) error {
	switch step := step.(type) {
	case steps.CompactHistory:
		for i := range l.Entries {
			if d := w.DataOf(l.Entries[i].Name); d != nil {
				d.Used = min(d.Used, d.Keys)
				if w.Pick(2) == 1 {
					d.Told = d.Used // otherwise when it writes next
				}
			}
		}
	case steps.DefragmentMember:
		if e := l.Entry(step.Name); e != nil && raft.Up(w, l, e) {
			d := w.DataOf(step.Name)
			d.File, d.Told = d.Used, d.Used
		}
	case steps.DisarmAlarm:
		if step.Alarm.Kind == etcd.AlarmNoSpace && step.Alarm.Member == l.NoSpace {
			l.NoSpace = 0
		}
		if step.Alarm.Kind == etcd.AlarmCorrupt {
			disarmCorrupt(l, step.Alarm)
		}
	}
	return nil
}

func disarmCorrupt(l *world.Life, alarm etcd.Alarm) {
	l.Fences = slices.DeleteFunc(l.Fences, func(id etcd.ID) bool { return id == alarm.Member }) // to etcd it is an alarm like any other
	if alarm.Member == l.Accused || (alarm.Member == 0 && l.Nobody) {
		l.Accused, l.Nobody = 0, false
	}
}
