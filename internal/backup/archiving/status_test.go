package archiving

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// fill gives each field below v a value that is not zero.
func fill(v reflect.Value) {
	if t, is := v.Addr().Interface().(*metav1.Time); is {
		t.Time = time.Unix(1_700_000_000, 0)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	}
}

// A status that is written causes no pass. What an archiver gets from another field of it would arrive with the next pass of another cause, up to a minute later: then the
// Reconciler must ask for one, as it does for a switchover.
func TestEachFieldOfTheStatusThatAnArchiverGetsCausesAPass(t *testing.T) {
	passes := map[string]string{
		"Switchover":    "report of the Reconciler asks for it",
		"Snapshot":      "the end of an attempt, which records it, asks for it",
		"SnapshotStore": "as above",
	}
	s := statetest.ArchivingState(t)
	all := reflect.TypeOf(s.Status)
	for i := range all.NumField() {
		name := all.Field(i).Name
		other := s
		s.Status.DeepCopyInto(&other.Status)
		fill(reflect.ValueOf(&other.Status).Elem().Field(i))
		if changes := !reflect.DeepEqual(SpecOf(s), SpecOf(other)); changes != (passes[name] != "") {
			t.Errorf("status.%s changes what an archiver does: %t", name, changes)
		}
	}
}
