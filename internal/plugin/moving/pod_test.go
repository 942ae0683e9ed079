package moving

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// full returns a value of which each field is set.
func full(of reflect.Type, depth int) reflect.Value {
	v := reflect.New(of).Elem()
	switch {
	case depth == 0:
	case of.Kind() == reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(full(of.Elem(), depth))
	case of.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, full(of.Elem(), depth-1)))
	case of.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(full(of.Key(), depth), full(of.Elem(), depth-1))
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(full(of.Field(i).Type, depth-1))
			}
		}
	case of.Kind() == reflect.String:
		v.SetString("x")
	case of.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	}
	return v
}

// set returns the names of the fields that are set.
func set(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	slices.Sort(names)
	return names
}

// A tenant's EtcdCluster had a container with envFrom of a Secret of another namespace. When an administrator moved the cluster there, the container ran with that Secret. A new field
// of spec.pod is left out until somebody decides that it runs nothing and names no object.
func TestAMoveToAnotherNamespaceRunsNothingOfTheOldOne(t *testing.T) {
	source := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "source"}}
	source.Spec.Pod = full(reflect.TypeFor[*v1beta2.PodPolicy](), 4).Interface().(*v1beta2.PodPolicy)
	if all := set(reflect.ValueOf(*source.Spec.Pod)); len(all) != reflect.TypeFor[v1beta2.PodPolicy]().NumField() {
		t.Fatalf("only %v are set", all)
	}
	c, err := Request{Namespace: "new", Name: "example", From: source}.NewCluster("3.6.16")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Affinity", "AntiAffinity", "EmptyDir", "NodeSelector", "PersistentVolumeClaimSpec", "Resources", "TerminationGracePeriodSeconds", "Tolerations", "TopologySpreadConstraints"}
	if diff := cmp.Diff(want, set(reflect.ValueOf(*c.Spec.Pod))); diff != "" {
		t.Errorf("spec.pod in another namespace (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AccessModes", "Resources", "StorageClassName", "VolumeMode"}, set(reflect.ValueOf(*c.Spec.Pod.PersistentVolumeClaimSpec))); diff != "" {
		t.Errorf("the volumes in another namespace (-want +got):\n%s", diff)
	}
	if c, err = (Request{Namespace: "old", Name: "example", From: source}).NewCluster("3.6.16"); err != nil || !reflect.DeepEqual(c.Spec.Pod, source.Spec.Pod) {
		t.Errorf("in the same namespace: %v", err)
	}
}
