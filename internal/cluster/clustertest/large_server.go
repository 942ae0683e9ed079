package clustertest

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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Large is the size of the objects that a test gives to a LargeServer. Kubernetes allows larger ones.
const Large = 256 << 10

// LargeServer is an API server with objects of a tenant. It has pages, and answers with metadata alone if it is asked for that.
type LargeServer struct {
	Objects []client.Object
	// Most is how many bytes the largest answer had.
	Most atomic.Int64
}

func (s *LargeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	_, name, one := strings.Cut(r.URL.Path, "/pods/")
	if one {
		for _, o := range s.Objects {
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
	s.Most.Store(max(s.Most.Load(), int64(len(content))))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(content)
}

func (s *LargeServer) page(r *http.Request) any {
	kind, names := "PodList", strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
	if strings.HasSuffix(r.URL.Path, "/events") {
		kind = "EventList"
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to, next := len(s.Objects), ""
	if limit > 0 && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	items := []any{}
	for _, o := range s.Objects[from:to] {
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

func (s *LargeServer) Reader(t *testing.T) client.Client {
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

// Unique is a text of about 1 MiB that no other object has.
func Unique(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 1<<20-100) }
