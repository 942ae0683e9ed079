package kubecache

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A tenant labeled NetworkPolicies with 160,000 empty rules. Each has 312 KiB as the API server sends it, and 17 MiB in memory. A hundred of them
// ended the operator, and then no cluster was healed.
func TestObjectsOfManySmallPartsDoNotFillTheCache(t *testing.T) {
	const count = 20
	ours := func(i int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("p", i), Labels: map[string]string{v1beta2.LabelCluster: "none"}}
	}
	for name, object := range map[string]func(i int) client.Object{
		"rules of NetworkPolicies": func(i int) client.Object {
			return &networkingv1.NetworkPolicy{ObjectMeta: ours(i), Spec: networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, 160_000)}}
		},
		"ports of Services": func(i int) client.Object {
			return &corev1.Service{ObjectMeta: ours(i), Spec: corev1.ServiceSpec{Ports: make([]corev1.ServicePort, 20_000)}}
		},
		"containers of Pods": func(i int) client.Object {
			pod := &corev1.Pod{ObjectMeta: ours(i)}
			for c := range 9_000 {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: strconv.FormatInt(int64(c), 36)})
			}
			return pod
		},
	} {
		t.Run(name, func(t *testing.T) {
			heaptest.Holds(t, count*2*MaxHeld>>10, func() any {
				var cache []any
				for i := range count {
					kept, err := Strip(object(i))
					if err != nil {
						t.Fatal(err)
					}
					cache = append(cache, kept)
				}
				return cache
			})
		})
	}
}

// Without this test, a tenant fills the memory of the operator with elements of the next list that the API of Kubernetes gets.
func TestEachListOfAnObjectCountsAsTheMemoryThatItTakes(t *testing.T) {
	options, err := CacheOptions("")
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for object := range options {
		full, _ := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		eachList(reflect.ValueOf(full).Elem(), 0, func(list reflect.Value, path string) {
			lists++
			if takes := list.Len() * int(list.Type().Elem().Size()); HeldSize(full) < min(takes, maxMeasured) {
				t.Errorf("%T%s takes %d bytes or more, and counts %d", full, path, takes, HeldSize(full))
			}
		})
	}
	if lists < 100 {
		t.Errorf("only %d lists are found", lists)
	}
}

// eachList fills each list below a value, one after the other.
func eachList(v reflect.Value, depth int, visit func(list reflect.Value, path string)) {
	if depth > 6 || !v.CanSet() {
		return
	}
	empty := reflect.Zero(v.Type())
	below := func(name string) func(reflect.Value, string) {
		return func(list reflect.Value, path string) { visit(list, "."+name+path) }
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		eachList(v.Elem(), depth, visit)
		v.Set(empty)
	case reflect.Struct:
		for i := range v.NumField() {
			eachList(v.Field(i), depth+1, below(v.Type().Field(i).Name))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1000, 1000))
		visit(v, "")
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		eachList(v.Index(0), depth+1, visit)
		v.Set(empty)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range 100 {
				v.SetMapIndex(reflect.ValueOf(strconv.Itoa(i)).Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
			}
			visit(v, "")
			v.Set(empty)
		}
	}
}

// If the Pod of a usual member counted as too large, the operator would take the member for one without a Pod.
func TestThePodOfAUsualMemberIsFarBelowTheBound(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := pods.NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1}, "image")
	if whole := HeldSize(pod); whole < 1<<10 || whole > maxComparedPod/2 {
		t.Errorf("it takes %d bytes", whole)
	}
}
