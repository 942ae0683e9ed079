package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Two worlds have the same key if the plan decides the same in both, whatever happens next. So a key has no absolute time, but which
// deadlines have passed since each time. It has no index of a write, but who has more writes than another. It has no UID and no ID of a
// member, but who is the same.

// Key of a world.
type Key [16]byte

// deadlines of the plan, in seconds, in ascending order.
var deadlines = []int{2, 15, 30, 60, 300, 600, 900, 1800, 3600, 86400}

// encoder writes a world in canonical form.
type encoder struct {
	out []byte
	now int
	// left is how many seconds are left until the next deadline; 0 if all have passed.
	left int
	// identities numbers UIDs and IDs in the order in which they are met.
	identities map[string]int
	// ranks of the indexes of each life.
	ranks map[etcd.ID][]int
	// fields that are compared, by type.
	fieldsOf map[reflect.Type][]field
}

// keyOf returns the key of a world, and in how many seconds the next deadline passes; 0 for none.
func (x *Exploration) keyOf(w *World) (Key, int) {
	e := w.encode(x.fields)
	return e.key(), e.left
}

func (e *encoder) key() Key {
	sum := sha256.Sum256(e.out)
	return Key(sum[:len(Key{})])
}

// keyWith is the key of a world whose operator has an old cache.
func (x *Exploration) keyWith(w *World, c *Cache, age int) Key {
	e := w.encode(x.fields)
	e.status(&c.cluster.Status)
	e.spec(&c.cluster.Spec)
	e.value(reflect.ValueOf(c.services))
	e.value(reflect.ValueOf(c.budget))
	e.value(reflect.ValueOf(c.restores))
	e.pods(w, c.pods)
	e.volumes(w, c.volumes)
	e.number(age)
	e.truth(reflect.DeepEqual(c.cluster, w.Cluster))
	return e.key()
}

func (w *World) encode(fields map[reflect.Type][]field) *encoder {
	e := &encoder{out: make([]byte, 0, 4096), now: w.now, identities: map[string]int{}, ranks: w.ranks(), fieldsOf: fields}
	for i := range w.incarnations {
		e.life(w, &w.incarnations[i])
	}
	e.pods(w, w.pods)
	e.volumes(w, w.volumes)
	e.status(&w.Cluster.Status)
	e.spec(&w.Cluster.Spec)
	for _, part := range []any{w.Services, w.Budget, w.NetworkPolicy, w.budgetSize, w.budgetKeeps, w.Restores, w.NoStorageClass, w.SecretProblem, w.BadImage, w.CutOff, w.AuthOn} {
		e.value(reflect.ValueOf(part))
	}
	e.waiting(w)
	e.tls(w)
	return e
}

// waiting of the operator, in the order of what it waits for.
func (e *encoder) waiting(w *World) {
	since := w.waiting.Since()
	keys := slices.SortedFunc(maps.Keys(since), func(a, b state.WaitKey) int {
		return cmp.Or(cmp.Compare(a.About, b.About), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Overdue, b.Overdue), cmp.Compare(a.Progress, b.Progress))
	})
	for _, key := range keys {
		e.value(reflect.ValueOf(key))
		e.time(since[key])
	}
}

// record is what the plan reads of a status.
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

func (e *encoder) number(n int) { e.out = binary.AppendVarint(e.out, int64(n)) }

func (e *encoder) truth(is bool) {
	n := 0
	if is {
		n = 1
	}
	e.number(n)
}

func (e *encoder) text(s string) {
	e.number(len(s))
	e.out = append(e.out, s...)
}

func (e *encoder) identity(of string) {
	if of == "" {
		e.number(-1)
		return
	}
	n, met := e.identities[of]
	if !met {
		n = len(e.identities)
		e.identities[of] = n
	}
	e.number(n)
}

func (e *encoder) time(at time.Time) {
	if at.IsZero() {
		e.number(-1)
		return
	}
	e.age(int(at.Sub(epoch) / time.Second))
}

// age writes which deadlines have passed since a second.
func (e *encoder) age(at int) {
	age, passed := e.now-at, 0
	for passed < len(deadlines) && age > deadlines[passed] {
		passed++
	}
	e.number(passed)
	if passed == len(deadlines) {
		return
	}
	e.truth(age == deadlines[passed])
	if left := deadlines[passed] + 1 - age; e.left == 0 || left < e.left {
		e.left = left
	}
}

// unread are fields of a status that the plan does not compare, or whose comparison has the same result in a whole exploration.
var unread = []string{"Message", "Percent", "SpecHash", "Revision", "RevisionBefore", "RevisionBump", "RaftIndex", "RaftTerm", "CreationTime"}

// value writes anything that has no form of its own.
func (e *encoder) value(v reflect.Value) {
	if v.IsValid() && v.Type() == reflect.TypeFor[etcd.ID]() {
		e.identity(etcd.ID(v.Uint()).String())
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		e.truth(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.number(int(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.number(int(v.Uint()))
	case reflect.String:
		e.text(v.String())
	case reflect.Pointer:
		e.truth(v.IsNil())
		if !v.IsNil() {
			e.value(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		e.number(v.Len())
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Struct:
		e.fields(v)
	}
}

func (e *encoder) fields(v reflect.Value) {
	if at, is := timeOf(v); is {
		e.time(at)
		return
	}
	t := v.Type()
	compared, known := e.fieldsOf[t]
	if !known {
		for i := range t.NumField() {
			if !slices.Contains(unread, t.Field(i).Name) {
				compared = append(compared, field{i, t.Field(i).Name == "LastRevision"})
			}
		}
		e.fieldsOf[t] = compared
	}
	for _, f := range compared {
		if f.whetherSet {
			e.truth(!v.Field(f.index).IsZero())
		} else {
			e.value(v.Field(f.index))
		}
	}
}

// field of a struct. whetherSet: it matters only whether it is set.
type field struct {
	index      int
	whetherSet bool
}

func timeOf(v reflect.Value) (time.Time, bool) {
	if v.Type() != reflect.TypeFor[time.Time]() || !v.CanInterface() {
		return time.Time{}, false
	}
	at, is := v.Interface().(time.Time)
	return at, is
}

func byName[T any](all []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}
