package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// largeServer is an API server with objects of a tenant. It has pages, and answers with metadata alone if it is asked for that.
type largeServer struct {
	objects []client.Object
	// most is how many bytes the largest answer had.
	most atomic.Int64
}

func (s *largeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	_, name, one := strings.Cut(r.URL.Path, "/pods/")
	if one {
		for _, o := range s.objects {
			if o.GetName() == name {
				answer = o
			}
		}
	} else {
		answer = s.page(r)
	}
	content, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.most.Store(max(s.most.Load(), int64(len(content))))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(content)
}

func (s *largeServer) page(r *http.Request) any {
	kind, names := "PodList", strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
	if strings.HasSuffix(r.URL.Path, "/events") {
		kind = "EventList"
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to, next := len(s.objects), ""
	if limit > 0 && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	items := []any{}
	for _, o := range s.objects[from:to] {
		if names {
			items = append(items, map[string]any{"metadata": metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()}})
			continue
		}
		items = append(items, o)
	}
	answer := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"resourceVersion": "1", "continue": next}, "items": items}
	if names {
		answer["apiVersion"], answer["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return answer
}

func (s *largeServer) reader(t *testing.T) client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// large is the size of the objects in these tests, which are smaller than those that Kubernetes allows. largeAnswer is that of a page of them.
const (
	large       = 256 << 10
	largeAnswer = (pageSize + 1) * large
)

// A tenant had 100 large Pods beside an EtcdCluster, and restored it. The operator read all of them at once, ended for lack of memory, and healed
// no cluster.
func TestTheLargePodsOfATenantAreNotReadForARestore(t *testing.T) {
	pod := func(i int, owners []metav1.OwnerReference, annotation string, args []string) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), OwnerReferences: owners, Annotations: map[string]string{"a": annotation}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: args}}},
		}
	}
	own := []metav1.OwnerReference{{APIVersion: "v1", Kind: "EtcdCluster", Name: "c", UID: "uid", Controller: ptr.To(true)}}
	for name, test := range map[string]struct {
		count      int
		owners     []metav1.OwnerReference
		annotation string
		args       []string
		want       int
		refused    bool
	}{
		"Pods of others":                  {count: 100, args: []string{strings.Repeat("x", large)}},
		"members with large arguments":    {count: 10, owners: own, args: make([]string, large/3), want: 10},
		"members that are large together": {count: 20, owners: own, annotation: strings.Repeat("x", large), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &largeServer{}
			for i := range test.count {
				s.objects = append(s.objects, pod(i, test.owners, test.annotation, test.args))
			}
			r := &Reconciler{APIReader: s.reader(t), lists: newLists()}
			var pods []corev1.Pod
			var err error
			heaptest.Holds(t, 4<<10, func() any {
				pods, err = r.livePods(t.Context(), &view{State: plan.State{Namespace: "ns", Name: "c", Incarnation: 1}, cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}})
				return pods
			})
			if (err != nil) != test.refused || len(pods) != test.want {
				t.Errorf("%d Pods, error %v", len(pods), err)
			}
			if most := s.most.Load(); most > largeAnswer {
				t.Errorf("one answer has %d KiB", most>>10)
			}
		})
	}
}
