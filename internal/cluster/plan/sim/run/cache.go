package run

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Cache is what an operator sees of Kubernetes: what was there some time ago. What it sees of etcd is never old, because it
// asks the members at the addresses of the Pods that it knows.
type Cache struct {
	Cluster          v1beta2.EtcdCluster
	Services         state.Services
	Budget           state.Budget
	budgetSize       int
	budgetKeeps      bool
	Restores         []world.Restore
	Pods             []world.Pod
	Volumes          []world.Volume
	template, labels int
	resources        int
}

// Snapshot is a cache that is not behind.
func Snapshot(w *world.World) Cache {
	return Cache{
		Cluster: *w.Cluster.DeepCopy(), Services: w.Services, Budget: w.Budget, budgetSize: w.BudgetSize, budgetKeeps: w.BudgetKeeps, Restores: slices.Clone(w.Restores),
		Pods: slices.Clone(w.Pods), Volumes: slices.Clone(w.Volumes), template: w.Template, labels: w.Labels,
		resources: w.Resources,
	}
}

// ObserveThrough is the State that an operator with that cache sees.
func ObserveThrough(w *world.World, c Cache) state.State {
	old := *w
	old.Cluster, old.Services, old.Budget, old.BudgetSize, old.BudgetKeeps = *c.Cluster.DeepCopy(), c.Services, c.Budget, c.budgetSize, c.budgetKeeps
	old.Restores, old.Pods, old.Volumes = slices.Clone(c.Restores), slices.Clone(c.Pods), slices.Clone(c.Volumes)
	old.Template, old.Labels, old.Resources, old.Present = c.template, c.labels, c.resources, w
	return observe.Observe(&old)
}

// DoThrough does a step that was planned on a cache. It returns what the operator's own confirmations found to be behind,
// and empty if the step was done.
func DoThrough(w *world.World, c Cache, s state.State, step steps.Step) (found string) {
	if found = behind(w, c, s, step); found != "" {
		return found
	}
	w.BehindCache = true
	check.Step(w, step)
	w.BehindCache = false
	w.Stale = true
	reported, err := doCached(w, c, s, step)
	w.Stale = false
	if reflect.DeepEqual(c.Cluster, w.Cluster) { // or the status write is refused
		Report(w, s, reported, err)
	} else if err == nil {
		membership.RecordRemoval(&w.Cluster.Status, reported)
	}
	return ""
}

// doCached deletes objects by the UIDs that the cache has.
func doCached(w *world.World, c Cache, s state.State, step steps.Step) (steps.Step, error) {
	if resize, is := step.(steps.ResizePod); is {
		return step, act.ResizePod(w, resize.Name, c.resources)
	}
	stop, is := step.(steps.StopMembers)
	if !is {
		return Do(w, s, step)
	}
	for _, p := range c.Pods {
		if p.Incarnation != stop.Except && samePod(w, &p) {
			effects.Stop(w, p.Name)
		}
	}
	return step, nil
}

// behind is what act_confirm.go reads past the cache, and the precondition of each deletion.
func behind(w *world.World, c Cache, s state.State, step steps.Step) string {
	if changed := behindSpec(w, c); changed != "" && steps.Confirmed(s, step) {
		return changed
	}
	switch step := step.(type) {
	case steps.RemoveMember:
		return behindRemoval(w, c, s, step)
	case steps.BeginBootstrap, steps.BeginRemoval, steps.RecordFormed, steps.RecordPromotion, steps.RecordVersionChange, steps.EndDefragmentation,
		steps.BeginRestore, steps.BeginSwitch, steps.ReturnToSeeding, steps.AdoptSeed, steps.CompleteRestore, steps.FailRestore,
		steps.BeginRecovery, steps.RecordForcing, steps.RecordForced, steps.CancelRecovery, steps.CompleteRecovery:
		if !reflect.DeepEqual(c.Cluster, w.Cluster) {
			return "status" // all that the step does is to write it
		}
		return behindOld(w, s, step)
	case steps.ApplyServices, steps.CreateMembers:
		if c.Services.ClientIncarnation != w.Services.ClientIncarnation || c.Services.ClientClusterID != w.Services.ClientClusterID {
			return "Service"
		}
	case steps.CreateMember:
		if v := w.Volume(step.Name); step.Waits && (v == nil || !v.Unused || w.Pod(step.Name) != nil) {
			return behindName(w, step.Name)
		}
	case steps.AddLearner:
		if m := observe.Named(s, step.Name); m.Waits {
			return behindWaiting(w, c, step.Name)
		}
		return behindName(w, step.Name)
	}
	return behindObject(w, c, s, step)
}

// behindSpec: the EtcdCluster is another one by now.
func behindSpec(w *world.World, c Cache) string {
	if changed := plan.Outdated(&c.Cluster, &w.Cluster); changed != "" {
		return changed
	}
	if !reflect.DeepEqual(c.Cluster.Spec, w.Cluster.Spec) || c.template != w.Template || c.labels != w.Labels || c.resources != w.Resources {
		return "spec"
	}
	return ""
}

// behindObject: the object that a step is for is another one by now.
func behindObject(w *world.World, c Cache, s state.State, step steps.Step) string {
	switch step := step.(type) {
	case steps.ReleaseMember:
		return c.otherPod(w, step.Name)
	case steps.DeletePod:
		return cmp.Or(c.otherPod(w, step.Name), behindStop(w, s, step.Name), behindReadiness(w, s, step))
	case steps.ForceDeletePod:
		if p := w.Pod(step.Name); step.Stopped && p != nil && !p.Ended {
			return "Pod " + step.Name
		}
		return c.otherPod(w, step.Name)
	case steps.DeleteVolume:
		return c.otherVolume(w, step.Name)
	case steps.SetAsideVolume:
		return c.otherVolume(w, step.Name)
	}
	return ""
}

func behindRemoval(w *world.World, c Cache, s state.State, step steps.RemoveMember) string {
	if p := w.Pod(step.Name); p != nil {
		known := slices.ContainsFunc(c.Pods, func(k world.Pod) bool { return k.Name == p.Name && k.UnreadySince == p.UnreadySince })
		if p.Ready && (step.Unresponsive() || step.DataGone()) || step.Unresponsive() && !known {
			return "Pod " + step.Name
		}
		same := slices.ContainsFunc(c.Pods, func(k world.Pod) bool { return k.Name == p.Name && k.UID == p.UID })
		if step.DataGone() && !same {
			return "Pod " + step.Name
		}
		if behind := behindStop(w, s, step.Name); behind != "" {
			return behind
		}
	}
	if v := w.Volume(step.Name); step.DataGone() && w.Durable() && v != nil && !v.Deleting && !v.Aside {
		return "volume " + step.Name
	}
	return ""
}

// behindStop: a Pod that the cache shows as blocked or ended, or as starting, runs by now.
func behindStop(w *world.World, s state.State, name string) string {
	if p := w.Pod(name); p != nil && p.State == state.PodRunning && plan.NotRunning(s, name) {
		return "Pod " + name
	}
	return ""
}

// behindReadiness: a Pod that counts in place of its member's answer is being deleted, or is not ready as the cache shows it.
func behindReadiness(w *world.World, s state.State, step steps.DeletePod) string {
	for _, m := range plan.CountedByPod(s, step) {
		if p := w.Pod(m.Name); p == nil || p.State == state.PodDeleting || p.Ready != m.PodReady {
			return "Pod " + m.Name
		}
	}
	return ""
}

// behindOld: old members run, which the seed replaces.
func behindOld(w *world.World, s state.State, step steps.Step) string {
	switch step.(type) {
	case steps.BeginSwitch, steps.ReturnToSeeding, steps.AdoptSeed:
		live := observe.Observe(w)
		live.MembershipKnown = s.MembershipKnown
		return restore.InTheWay(live, step)
	}
	return ""
}

// behindName: something has that name, and be it on its way out.
func behindName(w *world.World, name string) string {
	if w.Volume(name) != nil || w.Pod(name) != nil {
		return "member " + name
	}
	return ""
}

// behindWaiting: the Pod whose member is to be added does not wait any more.
func behindWaiting(w *world.World, c Cache, name string) string {
	if p := w.Pod(name); p == nil || !p.Waits || p.State == state.PodDeleting {
		return "Pod " + name
	}
	return c.otherPod(w, name)
}

func (c Cache) otherPod(w *world.World, name string) string {
	for i := range c.Pods {
		if c.Pods[i].Name == name && samePod(w, &c.Pods[i]) {
			return ""
		}
	}
	return "Pod " + name
}

func (c Cache) otherVolume(w *world.World, name string) string {
	v := w.Volume(name)
	if v != nil && slices.ContainsFunc(c.Volumes, func(cached world.Volume) bool { return cached.UID == v.UID }) {
		return ""
	}
	return "volume " + name
}

// samePod says whether a cached Pod is still there.
func samePod(w *world.World, cached *world.Pod) bool {
	p := w.Pod(cached.Name)
	return p != nil && p.UID == cached.UID
}
