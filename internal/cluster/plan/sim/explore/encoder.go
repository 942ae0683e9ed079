package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Two worlds have the same key if the plan decides the same in both, whatever happens next. So a key has no absolute time, but which
// deadlines have passed since each time. It has no index of a write, but who has more writes than another. It has no UID and no ID of a
// member, but who is the same.

// Key of a world.
type Key [16]byte

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

// field of a struct. whetherSet: it matters only whether it is set.
type field struct {
	index      int
	whetherSet bool
}

// deadlines of the plan, in seconds, in ascending order.
var deadlines = []int{2, 15, 30, 60, 300, 600, 900, 1800, 3600, 86400}

func (e *encoder) key() Key {
	sum := sha256.Sum256(e.out)
	return Key(sum[:len(Key{})])
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
	e.age(int(at.Sub(world.Epoch) / time.Second))
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

// rank of an index. An index between two others has the rank of the lower one.
func (e *encoder) rank(id etcd.ID, index int) {
	at, found := slices.BinarySearch(e.ranks[id], index)
	if !found {
		at--
	}
	e.number(at)
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
