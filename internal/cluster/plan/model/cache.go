package model

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Cache is what an operator sees of Kubernetes: what was there some time ago. What it sees of etcd is never old, because it
// asks the members at the addresses of the Pods that it knows.
type Cache struct {
	cluster          v1beta2.EtcdCluster
	services         state.Services
	budget           state.Budget
	budgetSize       int
	budgetKeeps      bool
	restores         []Restore
	pods             []pod
	volumes          []volume
	template, labels int
	resources        int
}

// Snapshot is a cache that is not behind.
func (w *World) Snapshot() Cache {
	return Cache{
		cluster: *w.Cluster.DeepCopy(), services: w.Services, budget: w.Budget, budgetSize: w.budgetSize, budgetKeeps: w.budgetKeeps, restores: slices.Clone(w.Restores),
		pods: slices.Clone(w.pods), volumes: slices.Clone(w.volumes), template: w.template, labels: w.labels,
		resources: w.resources,
	}
}

// ObserveThrough is the State that an operator with that cache sees.
func (w *World) ObserveThrough(c Cache) state.State {
	old := *w
	old.Cluster, old.Services, old.Budget, old.budgetSize, old.budgetKeeps = *c.cluster.DeepCopy(), c.services, c.budget, c.budgetSize, c.budgetKeeps
	old.Restores, old.pods, old.volumes = slices.Clone(c.restores), slices.Clone(c.pods), slices.Clone(c.volumes)
	old.template, old.labels, old.resources, old.present = c.template, c.labels, c.resources, w
	return old.Observe()
}

// DoThrough does a step that was planned on a cache. It returns what the operator's own confirmations found to be behind,
// and empty if the step was done.
func (w *World) DoThrough(c Cache, s state.State, step steps.Step) (behind string) {
	if behind = w.behind(c, s, step); behind != "" {
		return behind
	}
	w.behindCache = true
	w.Check(step)
	w.behindCache = false
	w.stale = true
	reported, err := w.doCached(c, s, step)
	w.stale = false
	if reflect.DeepEqual(c.cluster, w.Cluster) { // or the status write is refused
		w.Report(s, reported, err)
	} else if err == nil {
		membership.RecordRemoval(&w.Cluster.Status, reported)
	}
	return ""
}

// doCached deletes objects by the UIDs that the cache has.
func (w *World) doCached(c Cache, s state.State, step steps.Step) (steps.Step, error) {
	if resize, is := step.(steps.ResizePod); is {
		return step, w.resizePod(resize.Name, c.resources)
	}
	stop, is := step.(steps.StopMembers)
	if !is {
		return w.Do(s, step)
	}
	for _, p := range c.pods {
		if p.incarnation != stop.Except && w.samePod(&p) {
			w.stop(p.name)
		}
	}
	return step, nil
}

// behind is what act_confirm.go reads past the cache, and the precondition of each deletion.
func (w *World) behind(c Cache, s state.State, step steps.Step) string {
	if changed := w.behindSpec(c); changed != "" && steps.Confirmed(s, step) {
		return changed
	}
	switch step := step.(type) {
	case steps.RemoveMember:
		return w.behindRemoval(c, s, step)
	case steps.BeginBootstrap, steps.BeginRemoval, steps.RecordFormed, steps.RecordPromotion, steps.RecordVersionChange, steps.EndDefragmentation,
		steps.BeginRestore, steps.BeginSwitch, steps.ReturnToSeeding, steps.AdoptSeed, steps.CompleteRestore, steps.FailRestore,
		steps.BeginRecovery, steps.RecordForcing, steps.RecordForced, steps.CancelRecovery, steps.CompleteRecovery:
		if !reflect.DeepEqual(c.cluster, w.Cluster) {
			return "status" // all that the step does is to write it
		}
		return w.behindOld(s, step)
	case steps.ApplyServices, steps.CreateMembers:
		if c.services.ClientIncarnation != w.Services.ClientIncarnation || c.services.ClientClusterID != w.Services.ClientClusterID {
			return "Service"
		}
	case steps.CreateMember:
		if v := w.volume(step.Name); step.Waits && (v == nil || !v.unused || w.pod(step.Name) != nil) {
			return w.behindName(step.Name)
		}
	case steps.AddLearner:
		if m := named(s, step.Name); m.Waits {
			return w.behindWaiting(c, step.Name)
		}
		return w.behindName(step.Name)
	}
	return w.behindObject(c, s, step)
}

// behindSpec: the EtcdCluster is another one by now.
func (w *World) behindSpec(c Cache) string {
	if changed := plan.Outdated(&c.cluster, &w.Cluster); changed != "" {
		return changed
	}
	if !reflect.DeepEqual(c.cluster.Spec, w.Cluster.Spec) || c.template != w.template || c.labels != w.labels || c.resources != w.resources {
		return "spec"
	}
	return ""
}

// behindObject: the object that a step is for is another one by now.
func (w *World) behindObject(c Cache, s state.State, step steps.Step) string {
	switch step := step.(type) {
	case steps.ReleaseMember:
		return c.otherPod(w, step.Name)
	case steps.DeletePod:
		return cmp.Or(c.otherPod(w, step.Name), w.behindStop(s, step.Name), w.behindReadiness(s, step))
	case steps.ForceDeletePod:
		if p := w.pod(step.Name); step.Stopped && p != nil && !p.ended {
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

func (w *World) behindRemoval(c Cache, s state.State, step steps.RemoveMember) string {
	if p := w.pod(step.Name); p != nil {
		known := slices.ContainsFunc(c.pods, func(k pod) bool { return k.name == p.name && k.unreadySince == p.unreadySince })
		if p.ready && (step.Unresponsive() || step.DataGone()) || step.Unresponsive() && !known {
			return "Pod " + step.Name
		}
		same := slices.ContainsFunc(c.pods, func(k pod) bool { return k.name == p.name && k.uid == p.uid })
		if step.DataGone() && !same {
			return "Pod " + step.Name
		}
		if behind := w.behindStop(s, step.Name); behind != "" {
			return behind
		}
	}
	if v := w.volume(step.Name); step.DataGone() && w.durable() && v != nil && !v.deleting && !v.aside {
		return "volume " + step.Name
	}
	return ""
}

// behindStop: a Pod that the cache shows as blocked or ended, or as starting, runs by now.
func (w *World) behindStop(s state.State, name string) string {
	if p := w.pod(name); p != nil && p.state == state.PodRunning && plan.NotRunning(s, name) {
		return "Pod " + name
	}
	return ""
}

// behindReadiness: a Pod that counts in place of its member's answer is being deleted, or is not ready as the cache shows it.
func (w *World) behindReadiness(s state.State, step steps.DeletePod) string {
	for _, m := range plan.CountedByPod(s, step) {
		if p := w.pod(m.Name); p == nil || p.state == state.PodDeleting || p.ready != m.PodReady {
			return "Pod " + m.Name
		}
	}
	return ""
}

// behindOld: old members run, which the seed replaces.
func (w *World) behindOld(s state.State, step steps.Step) string {
	switch step.(type) {
	case steps.BeginSwitch, steps.ReturnToSeeding, steps.AdoptSeed:
		live := w.Observe()
		live.MembershipKnown = s.MembershipKnown
		return restore.InTheWay(live, step)
	}
	return ""
}

// behindName: something has that name, and be it on its way out.
func (w *World) behindName(name string) string {
	if w.volume(name) != nil || w.pod(name) != nil {
		return "member " + name
	}
	return ""
}

// behindWaiting: the Pod whose member is to be added does not wait any more.
func (w *World) behindWaiting(c Cache, name string) string {
	if p := w.pod(name); p == nil || !p.waits || p.state == state.PodDeleting {
		return "Pod " + name
	}
	return c.otherPod(w, name)
}

func named(s state.State, name string) state.Member {
	i := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == name })
	if i < 0 {
		return state.Member{}
	}
	return s.Members[i]
}

func (c Cache) otherPod(w *World, name string) string {
	for i := range c.pods {
		if c.pods[i].name == name && w.samePod(&c.pods[i]) {
			return ""
		}
	}
	return "Pod " + name
}

func (c Cache) otherVolume(w *World, name string) string {
	v := w.volume(name)
	if v != nil && slices.ContainsFunc(c.volumes, func(cached volume) bool { return cached.uid == v.uid }) {
		return ""
	}
	return "volume " + name
}

// samePod says whether a cached Pod is still there.
func (w *World) samePod(cached *pod) bool {
	p := w.pod(cached.name)
	return p != nil && p.uid == cached.uid
}
