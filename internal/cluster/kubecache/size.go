package kubecache

import (
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxHeld is how many bytes of memory one object takes in the cache at most. Kubernetes allows 256 KiB of annotations, and what slim leaves of a
	// member's Pod has some KiB beside them. What is larger can only be made by hand, so that no index leads to it, and many of them fill no memory.
	MaxHeld = 320 << 10
	// MaxForeign is how many bytes of memory an object of others takes in the cache at most: its names, and a selector.
	MaxForeign = 16 << 10

	// maxMeasured is where HeldSize stops to count. It is above all bounds.
	maxMeasured = 1 << 20
	// mapOverhead is how many times the bytes of its keys and values a map takes at most.
	mapOverhead = 2
)

// HeldSize returns how many bytes of memory an object takes, up to about maxMeasured. Its encoding does not show that: an empty rule of a
// NetworkPolicy has 2 bytes there, and 48 in memory.
func HeldSize(object client.Object) int {
	m := measure{}
	m.value(reflect.ValueOf(object))
	return m.bytes
}

// measure counts what values refer to. Each method counts the bytes behind a value, and not those of the value itself.
type measure struct{ bytes int }

func (m *measure) add(bytes uintptr) { m.bytes += int(min(bytes, maxMeasured)) } // #nosec G115 -- at most 1 MiB

func (m *measure) value(v reflect.Value) {
	if m.bytes > maxMeasured || flat(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		m.add(uintptr(v.Len()))
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			m.add(v.Elem().Type().Size())
			m.value(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.value(v.Field(i))
		}
	case reflect.Slice:
		m.add(uintptr(v.Cap()) * v.Type().Elem().Size())
		m.elements(v)
	case reflect.Array:
		m.elements(v)
	case reflect.Map:
		m.entries(v)
	}
}

func (m *measure) elements(v reflect.Value) {
	if flat(v.Type().Elem()) {
		return
	}
	for i := 0; i < v.Len() && m.bytes <= maxMeasured; i++ {
		m.value(v.Index(i))
	}
}

func (m *measure) entries(v reflect.Value) {
	m.add(mapOverhead * uintptr(v.Len()) * (v.Type().Key().Size() + v.Type().Elem().Size()))
	for entry := v.MapRange(); m.bytes <= maxMeasured && entry.Next(); {
		m.value(entry.Key())
		m.value(entry.Value())
	}
}

// flat returns whether values of a type refer to nothing that belongs to them. A time refers to its zone, which all times share.
func flat(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map:
		return false
	case reflect.Struct:
		return of == reflect.TypeFor[time.Time]()
	}
	return true
}
