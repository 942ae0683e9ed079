package explore

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// keyOf returns the key of a world, and in how many seconds the next deadline passes; 0 for none.
func keyOf(x *Exploration, w *world.World) (Key, int) {
	e := encode(w, x.fields)
	return e.key(), e.left
}

// keyWith is the key of a world whose operator has an old cache.
func keyWith(x *Exploration, w *world.World, c *run.Cache, age int) Key {
	e := encode(w, x.fields)
	e.status(&c.Cluster.Status)
	e.spec(&c.Cluster.Spec)
	e.value(reflect.ValueOf(c.Services))
	e.value(reflect.ValueOf(c.Budget))
	e.value(reflect.ValueOf(c.Restores))
	e.pods(w, c.Pods)
	e.volumes(w, c.Volumes)
	e.number(age)
	e.truth(reflect.DeepEqual(c.Cluster, w.Cluster))
	return e.key()
}

func encode(w *world.World, fields map[reflect.Type][]field) *encoder {
	e := &encoder{out: make([]byte, 0, 4096), now: w.Now, identities: map[string]int{}, ranks: ranks(w), fieldsOf: fields}
	for i := range w.Incarnations {
		e.life(w, &w.Incarnations[i])
	}
	e.pods(w, w.Pods)
	e.volumes(w, w.Volumes)
	e.status(&w.Cluster.Status)
	e.spec(&w.Cluster.Spec)
	for _, part := range []any{w.Services, w.Budget, w.NetworkPolicy, w.BudgetSize, w.BudgetKeeps, w.Restores, w.NoStorageClass, w.SecretProblem, w.BadImage, w.CutOff, w.AuthOn} {
		e.value(reflect.ValueOf(part))
	}
	e.waiting(w)
	e.tls(w)
	return e
}

// waiting of the operator, in the order of what it waits for.
func (e *encoder) waiting(w *world.World) {
	since := w.Waiting.Since()
	keys := slices.SortedFunc(maps.Keys(since), func(a, b state.WaitKey) int {
		return cmp.Or(cmp.Compare(a.About, b.About), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Overdue, b.Overdue), cmp.Compare(a.Progress, b.Progress))
	})
	for _, key := range keys {
		e.value(reflect.ValueOf(key))
		e.time(since[key])
	}
}

// status writes what the plan reads of a status.
func (e *encoder) status(s *v1beta2.EtcdClusterStatus) {
	e.text(s.ClusterID)
	e.number(int(s.Incarnation))
	for _, part := range []any{s.Restore, s.Recovery, s.LastRecovery, s.PastRestores, s.CurrentVersion, s.VersionChange, s.PodFailures, s.Space, s.PromotingMember, s.ForeignMembers, s.RemovingMember, s.AccusedMembers, s.LearnerFailures, s.LearnerFailedAt} {
		e.value(reflect.ValueOf(part))
	}
	e.number(len(s.MemberStatuses))
	for _, m := range s.MemberStatuses {
		e.text(m.Name)
		e.text(string(m.Role))
		e.identity(m.ID)
		e.identity(string(m.VolumeClaimUID))
	}
}

// spec has the fields that an exploration changes.
func (e *encoder) spec(s *v1beta2.EtcdClusterSpec) {
	for _, part := range []any{s.Size, s.Version, s.ReadOnly, s.Paused, s.Hibernate, s.Recovery} {
		e.value(reflect.ValueOf(part))
	}
}
