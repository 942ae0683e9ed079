package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// createUnlessStale creates a Pod, unless what the operator reads past its cache contradicts the step.
func (w *World) createUnlessStale(s state.State, step steps.CreateMember) error {
	if step.Start == state.StartForce && !w.forcing(step.Name) || step.Start == state.StartRejoin && w.otherThanRecorded(s, step.Name) {
		return errStale
	}
	w.create(s, step)
	return nil
}

// Act does a step's effect, as the operator's own act would. s is what the step was planned from.
func (w *World) Act(s state.State, step steps.Step) error {
	defer w.elect()
	if w.denies(step) {
		return errDenied
	}
	switch step := step.(type) {
	case steps.ApplyServices, steps.ApplyNetworkPolicy, steps.WithdrawNetworkPolicy, steps.ApplyBudget, steps.WithdrawBudget:
		w.actOnAccess(s, step)
	case steps.CreateCA, steps.ReplaceCA, steps.RemovePreviousCA, steps.WriteCertificates, steps.LoadCertificates:
		return w.actOnCertificates(step)
	case steps.CreateVolumes, steps.KeepVolume, steps.ResizeVolume, steps.SetAsideVolume, steps.UnmarkVolume, steps.DeleteVolume, steps.RecordForcing, steps.RecordForced:
		return w.actOnVolume(s, step)
	case steps.CreateMembers:
		for _, name := range membership.Bootable(s, step.Incarnation, step.Size) {
			w.create(s, steps.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size, Start: state.StartNew})
		}
	case steps.CreateMember:
		return w.createUnlessStale(s, step)
	case steps.ReleaseMember:
		w.release(s, step.Name)
	case steps.ResizePod:
		return w.resizePod(step.Name, w.resources)
	case steps.RelabelPod:
		if p := w.pod(step.Name); p != nil {
			p.labels = w.labels
		}
	case steps.ApplyMetadata: // no world has spec.metadata
	case steps.ForbidEmptyStart:
		if p := w.pod(step.Name); p != nil {
			p.guarded = true
		}
	case steps.AddToService:
		w.expose(step.Name, true)
	case steps.RemoveFromService:
		w.expose(step.Name, false)
	case steps.DeletePod:
		w.checkSuccessor(s, step)
		w.stop(step.Name)
	case steps.StopMembers:
		w.stopAll(step.Except)
	case steps.ForceDeletePod:
		return w.forceDelete(step)
	default:
		return w.change(s, step)
	}
	return nil
}

// actOnAccess does the steps that say who reaches the members, and when they may be evicted.
func (w *World) actOnAccess(s state.State, step steps.Step) {
	switch step := step.(type) {
	case steps.ApplyServices:
		w.Services = state.Services{
			HeadlessCurrent: true, ClientExists: true, ClientCurrent: true,
			ClientIncarnation: step.Incarnation, ClientClusterID: step.ClusterID, ClientRestoreUID: step.RestoreUID, WithoutUID: step.WithoutUID,
			ClientUnready: step.Unready,
		}
	case steps.ApplyNetworkPolicy:
		w.NetworkPolicy = state.NetworkPolicy{Exists: true, Current: true, OpenPeers: step.OpenPeers}
	case steps.WithdrawNetworkPolicy:
		w.NetworkPolicy = state.NetworkPolicy{}
	case steps.ApplyBudget:
		w.budgetSize, w.budgetKeeps = s.Spec.Size, modes.KeepsUnready(s)
		w.Budget = state.Budget{Exists: true, Current: true, Incarnation: step.Incarnation, MinAvailable: step.MinAvailable, Other: w.Budget.Other}
	case steps.WithdrawBudget:
		w.Budget = state.Budget{Other: w.Budget.Other}
	}
}

// forceDelete deletes the object of a Pod.
func (w *World) forceDelete(step steps.ForceDeletePod) error {
	if p := w.pod(step.Name); step.Stopped && (p == nil || !p.ended) {
		return errNotStopped
	}
	w.pods = slices.DeleteFunc(w.pods, func(p pod) bool { return p.name == step.Name })
	return nil
}

// stopAll stops the Pods of all incarnations but one.
func (w *World) stopAll(except int32) {
	for _, p := range slices.Clone(w.pods) {
		if p.incarnation != except {
			w.stop(p.name)
		}
	}
}

// expose sets whether the client Service selects a Pod.
func (w *World) expose(name string, exposed bool) {
	if p := w.pod(name); p != nil {
		p.exposed = exposed
	}
}

// actOnVolume does the steps that touch volumes only.
func (w *World) actOnVolume(s state.State, step steps.Step) error {
	switch step := step.(type) {
	case steps.CreateVolumes:
		for _, name := range state.InitialNames(s, step.Incarnation, step.Size) {
			w.provide(volume{size: sizeOf(s), name: name, incarnation: step.Incarnation, initialSize: step.Size})
		}
	case steps.KeepVolume:
		if v := w.volume(step.Name); v != nil {
			v.kept = step.Keep
		}
	case steps.ResizeVolume:
		return w.resizeVolume(step)
	case steps.SetAsideVolume:
		if v := w.volume(step.Name); v != nil {
			v.aside, v.since = true, w.now
		}
	case steps.UnmarkVolume:
		if v := w.volume(step.Name); v != nil {
			v.recovered, v.recoveredAt = false, time.Time{}
		}
	case steps.RecordForcing, steps.RecordForced:
		for _, name := range volumes.ReplacedByRecovery(s) {
			if v := w.volume(name); v != nil {
				v.recovered = true
				if at := s.Recovery.StartedAt; at != nil {
					v.recoveredAt = at.Time
				}
			}
		}
	case steps.DeleteVolume:
		if v := w.volume(step.Name); v != nil {
			v.deleting = true
		}
	}
	return nil
}

// create makes a member's volume and Pod where they are missing.
func (w *World) create(s state.State, step steps.CreateMember) {
	if w.durable() && (step.Start == state.StartJoin || step.Start == state.StartSeed) {
		w.provide(volume{size: sizeOf(s), name: step.Name, incarnation: step.Incarnation, unused: step.Waits})
		if !step.Waits {
			w.use(step.Name)
		}
	}
	if w.pod(step.Name) != nil {
		return
	}
	w.uids++
	p := pod{
		name: step.Name, uid: w.uids, created: w.now, incarnation: step.Incarnation, initialSize: step.InitialSize, start: step.Start,
		version: versionOf(s.ImageFor(step.Incarnation)), state: state.PodStarting,
		exposed: step.Start != state.StartJoin && step.Start != state.StartForce && !s.Fenced(step.Name), zone: w.pick(zones), unreadySince: w.now, template: w.template, labels: w.labels, resources: w.resources, expectedSince: w.now, stale: w.stale, unschedulable: w.NoNode,
		quota: quotaAsked(s.Spec), inPod: !w.durable(), probesAlarm: w.earlierPod(),
	}
	if w.TLS != nil {
		p.tls = w.newEndpoint(s)
	}
	switch {
	case step.Start == state.StartNew:
		p.peers = state.InitialNames(s, step.Incarnation, step.InitialSize)
	case step.Start == state.StartSeed && s.Request != nil:
		p.restore, p.bump = s.Request.UID, restore.SeedRevisionBump(s)
	case step.Waits:
		p.waits = true
	case step.Start == state.StartJoin:
		p.peers = state.JoinPeers(s, step.Name)
	}
	w.pods = append(w.pods, p)
}

// release lets a Pod that waits start etcd with the membership that was planned on.
func (w *World) release(s state.State, name string) {
	w.use(name)
	if p := w.pod(name); p != nil && p.waits {
		p.waits, p.peers = false, state.JoinPeers(s, name)
	}
}

// use records that etcd may run on a volume from now on.
func (w *World) use(name string) {
	if v := w.volume(name); v != nil {
		v.unused = false
	}
}

func sizeOf(s state.State) int64 {
	request := state.StorageRequest(s)
	return request.Value()
}

// provide makes a volume where there is none of that name.
func (w *World) provide(v volume) {
	if w.volume(v.name) == nil {
		w.uids++
		v.uid, v.created = w.uids, w.now
		w.volumes = append(w.volumes, v)
	}
}

// stop begins the end of a Pod.
func (w *World) stop(name string) {
	p := w.pod(name)
	if p == nil || p.state == state.PodDeleting {
		return
	}
	if p.state == state.PodEnded && !p.stuck { // the API server deletes a Pod in a final phase at once
		w.pods = slices.DeleteFunc(w.pods, func(p pod) bool { return p.name == name })
		return
	}
	p.state, p.reason, p.wrong = state.PodDeleting, "", ""
	p.goneBy = w.now + 30
	w.unready(p)
}

func (w *World) unready(p *pod) {
	if p.ready {
		p.ready, p.unreadySince = false, w.now
	}
}

// forcing is what the operator reads past its cache before it starts a Pod with --force-new-cluster.
func (w *World) forcing(name string) bool {
	recovery := w.Cluster.Status.Recovery
	return recovery != nil && recovery.Step == v1beta2.RecoveryForcing && recovery.ForcedAt != nil && recovery.Member == name && w.company(name) == ""
}

var errStale = errors.New("the recovery is at another step by now")

var errNotStopped = errors.New("a Pod of that name has not stopped")

var errUnknownMember = errors.New("no such member")

// change is a change of the membership, or of who leads. etcd refuses what it would refuse. A change is a write
// like any other: a majority of those who were members before has it.
func (w *World) change(s state.State, step steps.Step) error {
	if fence, is := step.(steps.FenceWrites); is && fence.Seed != "" {
		return w.fenceSeed(s, fence)
	}
	l := w.asked(&s)
	if l == nil {
		return w.changeless(step)
	}
	if l.leader == 0 {
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
			w.create(s, steps.CreateMember{Name: step.Name, Incarnation: s.Incarnation, Start: state.StartJoin})
		}
		return w.add(l, step)
	case steps.EnableDowngrade:
		return w.enableDowngrade(l, step)
	case steps.CancelDowngrade:
		l.downgrade = 0
	case steps.PromoteLearner:
		return w.promote(l, step.ID)
	case steps.RemoveMember:
		return w.remove(l, step.ID)
	case steps.MoveLeader:
		to := l.byID(step.To)
		if to == nil || to.learner || !w.up(l, to) {
			return fmt.Errorf("move leader to %s: %w", step.To, errUnknownMember)
		}
		l.leader = to.id
	case steps.FenceWrites:
		l.fence(step.ID)
		w.fencedAt = l.revision + int64(l.index)
	case steps.UnfenceWrites:
		l.fences = slices.DeleteFunc(l.fences, func(id etcd.ID) bool { return id == step.ID })
	default:
		return w.changeSpace(l, step)
	}
	return nil
}

// changeless: steps that change nothing but the status need no etcd.
func (w *World) changeless(step steps.Step) error {
	switch step.(type) {
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember, steps.MoveLeader, steps.EnableDowngrade, steps.CancelDowngrade,
		steps.CompactHistory, steps.DefragmentMember, steps.DisarmAlarm, steps.FenceWrites, steps.UnfenceWrites:
		return fmt.Errorf("no member serves: %w", etcd.ErrNotYet)
	}
	return nil
}

func (w *World) add(l *life, step steps.AddLearner) error {
	if l.entry(step.Name) != nil {
		return nil
	}
	if !strings.Contains(step.PeerURL, step.Name) {
		return fmt.Errorf("peer URL %s does not belong to member %s", step.PeerURL, step.Name)
	}
	learning := slices.ContainsFunc(l.entries, func(e entry) bool { return e.learner })
	down := slices.ContainsFunc(l.entries, func(e entry) bool { return !e.learner && !w.up(l, &e) })
	if l.cooling > 0 || down || (learning && !step.Voter) {
		return fmt.Errorf("unhealthy, or too many learners: %w", etcd.ErrNotYet)
	}
	w.write(l)
	w.nextID++
	l.entries = append(l.entries, entry{id: etcd.ID(w.nextID), name: step.Name, learner: !step.Voter})
	return nil
}

func (w *World) promote(l *life, id etcd.ID) error {
	e := l.byID(id)
	if e == nil {
		return fmt.Errorf("promote %s: %w", id, errUnknownMember)
	}
	if !e.learner {
		return nil
	}
	if !e.caughtUp || !w.up(l, e) {
		return fmt.Errorf("the learner has not caught up: %w", etcd.ErrNotYet)
	}
	w.write(l)
	e.learner = false
	w.expect(e)
	l.cooling = 3
	return nil
}

// remove refuses, as etcd's strict reconfiguration does, what would leave the active members without quorum.
func (w *World) remove(l *life, id etcd.ID) error {
	e := l.byID(id)
	if e == nil {
		return nil
	}
	if v := w.voters(l); !e.learner && !v.KeepsQuorumWithout(w.up(l, e)) {
		return fmt.Errorf("unhealthy cluster: %w", etcd.ErrNotYet)
	}
	w.write(l)
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.id == id })
	return nil
}
