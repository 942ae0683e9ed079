package raft

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// TickLife publishes members, lets learners catch up and clients write. It says whether anything but the writes
// moved.
func TickLife(w *world.World, l *world.Life) (moved bool) {
	moved = Advance(w, l)
	switch {
	case l.Leader == 0:
	case len(l.Fences) > 0:
		moved = Replicate(w, l) || moved
	default:
		ServeClients(w, l)
	}
	return moved
}

// ServeClients acknowledges a write if the life has clients, and takes writes.
func ServeClients(w *world.World, l *world.Life) {
	if l.Leader != 0 && len(l.Fences) == 0 && HasClients(w, l) {
		CheckReplacedIsSilent(w, l)
		Write(w, l)
	}
}

// Advance publishes members, and lets learners catch up and the version change.
func Advance(w *world.World, l *world.Life) (moved bool) {
	if l.Cooling > 0 {
		l.Cooling--
		moved = true
	}
	if l.Leader == 0 {
		return moved
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		if !Up(w, l, e) {
			continue
		}
		switch {
		case !e.Started:
			e.Started, moved = true, true
		case e.Learner && !e.CaughtUp && w.Pick(2) == 0:
			e.CaughtUp, moved = true, true
		}
	}
	return tickVersion(w, l) || moved
}

// Replicate brings all that was acknowledged to the members that are up, while no client writes.
func Replicate(w *world.World, l *world.Life) (moved bool) {
	for i := range l.Entries {
		e := &l.Entries[i]
		if !Up(w, l, e) || e.Learner && !e.CaughtUp {
			continue
		}
		if d := w.DataOf(e.Name); d != nil && d.Index < l.Index {
			d.Index, moved = l.Index, true
		}
	}
	return moved
}

// HasClients says whether clients write to a life: none is led to the seed of a restore before it becomes the cluster.
func HasClients(w *world.World, l *world.Life) bool { return l.Restore == "" || l.Adopted }

// Write acknowledges one write of a client: the leader and enough others have it, and the rest may lag.
func Write(w *world.World, l *world.Life) {
	l.Index++
	needed := etcd.Quorum(Voters(w, l).Total)
	if d := w.DataOf(l.ByID(l.Leader).Name); d != nil {
		d.Index = l.Index
		needed--
	}
	first := w.Pick(len(l.Entries))
	for i := range l.Entries {
		e := &l.Entries[(first+i)%len(l.Entries)]
		if e.ID == l.Leader || !Up(w, l, e) {
			continue
		}
		if e.Learner {
			if e.CaughtUp {
				w.DataOf(e.Name).Index = l.Index
			}
			continue
		}
		if needed > 0 || w.Pick(2) == 0 {
			w.DataOf(e.Name).Index = l.Index
			needed--
		}
	}
}

// CheckReplacedIsSilent checks that after the client Service selects a restored cluster, the one before it acknowledges no write. A client with an
// old connection may still ask it for one.
func CheckReplacedIsSilent(w *world.World, l *world.Life) {
	selected := w.LifeOf(w.Services.ClientIncarnation)
	if selected != nil && selected.Restore != "" && l.Adopted && l.Incarnation < selected.Incarnation && w.Services.ClientClusterID == selected.ID.String() {
		w.Violate(world.ReplacedIsSilent, "incarnation %d acknowledges a write, and the client Service selects incarnation %d", l.Incarnation, selected.Incarnation)
	}
}

// Add adds a member. It refuses what etcd refuses.
func Add(w *world.World, l *world.Life, step steps.AddLearner) error {
	if l.Entry(step.Name) != nil {
		return nil
	}
	if !strings.Contains(step.PeerURL, step.Name) {
		return fmt.Errorf("peer URL %s does not belong to member %s", step.PeerURL, step.Name)
	}
	learning := slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return e.Learner })
	down := slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return !e.Learner && !Up(w, l, &e) })
	if l.Cooling > 0 || down || (learning && !step.Voter) {
		return fmt.Errorf("unhealthy, or too many learners: %w", etcd.ErrNotYet)
	}
	Write(w, l)
	w.NextID++
	l.Entries = append(l.Entries, world.Entry{ID: etcd.ID(w.NextID), Name: step.Name, Learner: !step.Voter})
	return nil
}

// Promote gives a learner its vote, if it has caught up.
func Promote(w *world.World, l *world.Life, id etcd.ID) error {
	e := l.ByID(id)
	if e == nil {
		return fmt.Errorf("promote %s: %w", id, ErrUnknownMember)
	}
	if !e.Learner {
		return nil
	}
	if !e.CaughtUp || !Up(w, l, e) {
		return fmt.Errorf("the learner has not caught up: %w", etcd.ErrNotYet)
	}
	Write(w, l)
	e.Learner = false
	expect(w, e)
	l.Cooling = 3
	return nil
}

// Remove refuses, as etcd's strict reconfiguration does, what would leave the active members without quorum.
func Remove(w *world.World, l *world.Life, id etcd.ID) error {
	e := l.ByID(id)
	if e == nil {
		return nil
	}
	if v := Voters(w, l); !e.Learner && !v.KeepsQuorumWithout(Up(w, l, e)) {
		return fmt.Errorf("unhealthy cluster: %w", etcd.ErrNotYet)
	}
	Write(w, l)
	l.Entries = slices.DeleteFunc(l.Entries, func(e world.Entry) bool { return e.ID == id })
	return nil
}

// ErrUnknownMember is the answer of etcd about a member that does not exist.
var ErrUnknownMember = errors.New("no such member")

// Changeable is the cluster that clients are led to, if its members accept a change of the membership.
func Changeable(w *world.World) *world.Life {
	l := w.Formed()
	restore := w.Cluster.Status.Restore
	if l == nil || l.Leader == 0 || l.Cooling > 0 || l.Downgrade != 0 || !l.Adopted || (restore != nil && restore.Step == v1beta2.RestoreSwitching) {
		return nil
	}
	return l
}

// HoldsFences reports whether all Pods run an etcd in which a fence holds.
func HoldsFences(w *world.World) bool {
	return !slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return world.MinorOf(p.Version) < world.Downgrades })
}
