package observe

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// fullPages is an API server whose lists have copies of one object that is as large as etcd accepts.
type fullPages struct {
	pages map[int][]byte // by their number of objects
	asked atomic.Int32
}

func (s *fullPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	_, _ = w.Write(s.pages[limit])
}

// serve returns a reader of lists that never end, with the objects of listOf.
func serve(t *testing.T, listOf func(items int, more metav1.ListMeta) runtime.Object) (client.Client, *fullPages) {
	t.Helper()
	s := &fullPages{pages: map[int][]byte{}}
	for _, items := range []int{1, kubecache.PageSize} {
		var raw bytes.Buffer
		if err := protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme).Encode(listOf(items, metav1.ListMeta{ResourceVersion: "1", Continue: "more"}), &raw); err != nil {
			t.Fatal(err)
		}
		if each := raw.Len() / items; each > 1536<<10 || each < 1<<20 {
			t.Fatalf("an object has %d KiB, and a tenant can write 1.5 MiB", each>>10)
		}
		s.pages[items] = raw.Bytes()
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Event"), discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	config := &rest.Config{Host: server.URL, QPS: -1}
	config.Wrap(kube.BoundAnswers) // as in internal/operator
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// junk is the metadata of an object of a tenant. Labels take most memory for their bytes.
func junk() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "ns", Name: "junk", Labels: map[string]string{discoveryv1.LabelServiceName: "c"}}
	for i := range 110_000 {
		m.Labels[strconv.FormatInt(int64(i), 36)] = ""
	}
	return m
}

// A tenant wrote EndpointSlices of 1.5 MiB for the Service of a cluster, and Pods and events of that size. The operator decoded ten of them at once, which
// took more than 100 MiB for each namespace that did so. It ended for lack of memory, and repaired the clusters of no other tenant.
func TestLargeObjectsOfATenantAreNotDecodedAsAPage(t *testing.T) {
	const most = 5 * (1 + kubecache.PageSize) // pages that are too large, and the objects of each
	pod := state.Member{Name: clustertest.AheadName, Incarnation: 1, Pod: state.PodStarting, Start: state.StartJoin, Node: "n", Waits: true, AddressSince: plantest.Noon, PodCreated: plantest.Noon.Add(-time.Hour)}
	for name, test := range map[string]struct {
		list func(items int, more metav1.ListMeta) runtime.Object
		read func(*Observer, *view.View)
	}{
		"EndpointSlices": {func(items int, more metav1.ListMeta) runtime.Object {
			one := discoveryv1.EndpointSlice{ObjectMeta: junk(), AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Hostname: ptr.To("other"), Addresses: []string{"10.0.0.9"}}}}
			return &discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, ListMeta: more, Items: repeatedly(one, items)}
		}, func(o *Observer, v *view.View) { o.observePublished(t.Context(), v) }},
		"events": {func(items int, more metav1.ListMeta) runtime.Object {
			return &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, ListMeta: more, Items: repeatedly(corev1.Event{ObjectMeta: junk()}, items)}
		}, func(o *Observer, v *view.View) { o.observeMounts(t.Context(), v) }},
		"names of Pods": {func(items int, more metav1.ListMeta) runtime.Object {
			return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: more, Items: repeatedly(metav1.PartialObjectMetadata{ObjectMeta: junk()}, items)}
		}, func(o *Observer, v *view.View) {
			pages := 0
			var empty metav1.PartialObjectMetadataList
			empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
			err := kubecache.EachPage(t.Context(), o.APIReader, o.Gate, v.Namespace, &empty, func(*metav1.PartialObjectMetadataList) bool { pages++; return pages < 5 })
			if err != nil || pages != 5 {
				t.Errorf("%d pages, error %v", pages, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := serve(t, test.list)
			o := observerOf(&view.KubeAPI{APIReader: c})
			o.Gate, o.Explaining = kubecache.NewListGate(), NewExplaining()
			v := &view.View{Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Cluster: &v1beta2.EtcdCluster{}, Addresses: map[string]string{clustertest.AheadName: "10.0.0.1"}, State: state.State{Namespace: "ns", Name: "c", Now: plantest.Noon, Members: []state.Member{pod}}}
			heaptest.Bound(t, 100, func() { test.read(o, v) })
			if asked := s.asked.Load(); asked == 0 || asked > most {
				t.Errorf("the API server was asked %d times", asked)
			}
		})
	}
}

func repeatedly[T any](one T, count int) (all []T) {
	for range count {
		all = append(all, one)
	}
	return all
}

// A tenant's slices came before that of Kubernetes. The operator must still read an address behind a few of them, and read no more when it has all.
func TestAnAddressBehindLargeSlicesIsRead(t *testing.T) {
	large := func(i int) *discoveryv1.EndpointSlice {
		s := addressIn("example", "10.0.0.9")
		s.Name, s.Annotations = fmt.Sprint("a", i), map[string]string{"a": strings.Repeat("x", 200<<10)}
		return s
	}
	o, v := observerBeside(t, large(0), large(1), large(2), addressIn("example", "10.0.0.1"))
	waitsWithAddress(v, plantest.Noon)
	o.observePublished(t.Context(), v)
	if v.Members[0].PublishedSince.IsZero() {
		t.Error("the address in the slice of Kubernetes counts as unknown")
	}
}
