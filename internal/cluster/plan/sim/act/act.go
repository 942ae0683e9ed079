// Package act does the steps of the planner in a simulated world, as the operator's own act does in Kubernetes and etcd.
package act

import (
	"errors"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Act does a step's effect, as the operator's own act would. s is what the step was planned from.
func Act(w *world.World, s state.State, step steps.Step) error {
	defer raft.Elect(w)
	if denies(w, step) {
		return ErrDenied
	}
	switch step := step.(type) {
	case steps.ApplyServices, steps.ApplyNetworkPolicy, steps.WithdrawNetworkPolicy, steps.ApplyBudget, steps.WithdrawBudget:
		actOnAccess(w, s, step)
	case steps.CreateCA, steps.ReplaceCA, steps.RemovePreviousCA, steps.WriteCertificates, steps.LoadCertificates:
		return actOnCertificates(w, step)
	case steps.CreateVolumes, steps.KeepVolume, steps.ResizeVolume, steps.SetAsideVolume, steps.UnmarkVolume, steps.DeleteVolume, steps.RecordForcing, steps.RecordForced:
		return actOnVolume(w, s, step)
	case steps.CreateMembers:
		for _, name := range membership.Bootable(s, step.Incarnation, step.Size) {
			create(w, s, steps.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size, Start: state.StartNew})
		}
	case steps.CreateMember:
		return createUnlessStale(w, s, step)
	case steps.ReleaseMember:
		release(w, s, step.Name)
	case steps.ResizePod:
		return ResizePod(w, step.Name, w.Resources)
	case steps.ApplyMetadata: // no world has spec.metadata
	case steps.RelabelPod, steps.ForbidEmptyStart, steps.PromoteStandby:
		mark(w, step)
	case steps.AddToService:
		expose(w, step.Name, true)
	case steps.RemoveFromService:
		expose(w, step.Name, false)
	case steps.DeletePod:
		check.Successor(w, s, step)
		leave(w, step)
		effects.Stop(w, step.Name)
	case steps.StopMembers:
		stopAll(w, step.Except)
	case steps.ForceDeletePod:
		return forceDelete(w, step)
	default:
		return change(w, s, step)
	}
	return nil
}

// leave removes an old member from its own cluster, unless etcd refuses that.
func leave(w *world.World, step steps.DeletePod) {
	if step.Leaves == 0 || w.Pick(2) == 0 {
		return
	}
	if p := w.Pod(step.Name); p != nil {
		if l := w.LifeOf(p.Incarnation); l != nil && l.Leader != 0 && l.Leader != step.Leaves {
			_ = raft.Remove(w, l, step.Leaves) // the Pod is deleted whether it has left or not
		}
	}
}

// mark changes labels and annotations of a Pod that is there.
func mark(w *world.World, step steps.Step) {
	switch step := step.(type) {
	case steps.RelabelPod:
		if p := w.Pod(step.Name); p != nil {
			p.Labels = w.Labels
		}
	case steps.ForbidEmptyStart:
		if p := w.Pod(step.Name); p != nil {
			p.Guarded = true
		}
	case steps.PromoteStandby:
		if p := w.Pod(step.Name); p != nil {
			p.Promoting = true
		}
	}
}

// createUnlessStale creates a Pod, unless what the operator reads past its cache contradicts the step.
func createUnlessStale(w *world.World, s state.State, step steps.CreateMember) error {
	if step.Start == state.StartForce && !forcing(w, step.Name) || step.Start == state.StartRejoin && otherThanRecorded(w, s, step.Name) {
		return errStale
	}
	create(w, s, step)
	return nil
}

// actOnAccess does the steps that say who reaches the members, and when they may be evicted.
func actOnAccess(w *world.World, s state.State, step steps.Step) {
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
		w.BudgetSize, w.BudgetKeeps = s.Spec.Size, modes.KeepsUnready(s)
		w.Budget = state.Budget{Exists: true, Current: true, Incarnation: step.Incarnation, MinAvailable: step.MinAvailable, Other: w.Budget.Other}
	case steps.WithdrawBudget:
		w.Budget = state.Budget{Other: w.Budget.Other}
	}
}

// forceDelete deletes the object of a Pod.
func forceDelete(w *world.World, step steps.ForceDeletePod) error {
	if p := w.Pod(step.Name); step.Stopped && (p == nil || !p.Ended) {
		return errNotStopped
	}
	w.Pods = slices.DeleteFunc(w.Pods, func(p world.Pod) bool { return p.Name == step.Name })
	return nil
}

// stopAll stops the Pods of all incarnations but one.
func stopAll(w *world.World, except int32) {
	for _, p := range slices.Clone(w.Pods) {
		if p.Incarnation != except {
			effects.Stop(w, p.Name)
		}
	}
}

// expose sets whether the client Service selects a Pod.
func expose(w *world.World, name string, exposed bool) {
	if p := w.Pod(name); p != nil {
		p.Exposed = exposed
	}
}

var errNotStopped = errors.New("a Pod of that name has not stopped")

// denies reports whether an admission policy denies an object of a step.
func denies(w *world.World, step steps.Step) bool {
	var creates []string
	switch step := step.(type) {
	case steps.CreateVolumes:
		creates = []string{world.Claims}
	case steps.CreateMembers:
		creates = []string{world.Pods}
	case steps.CreateMember:
		creates = []string{world.Pods}
		if w.Durable() && (step.Start == state.StartJoin || step.Start == state.StartSeed) && w.Volume(step.Name) == nil {
			creates = append(creates, world.Claims)
		}
	case steps.ApplyServices:
		creates = []string{world.Service}
	case steps.ApplyBudget:
		creates = []string{world.Budgets}
	}
	return slices.Contains(creates, w.Denied)
}

// ErrDenied is the answer of an admission policy.
var ErrDenied = errors.New("denied request: the label team is missing")
