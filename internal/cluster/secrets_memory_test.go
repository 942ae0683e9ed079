package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// manyKeys is a Secret of a tenant as the API server sends it: as many keys as fit into the 1.5 MiB of etcd. Its managedFields were stripped.
func manyKeys(t *testing.T, keys int) []byte {
	t.Helper()
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: clustertest.Controlled("uid-example", "many", nil), Data: map[string][]byte{}}
	for k := range keys {
		secret.Data[strconv.FormatInt(int64(k), 36)] = nil
	}
	var raw bytes.Buffer
	if err := protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme).Encode(secret, &raw); err != nil {
		t.Fatal(err)
	}
	if raw.Len() > 1536<<10-2048 {
		t.Fatalf("etcd refuses a Secret of %d bytes", raw.Len())
	}
	return raw.Bytes()
}

// secretsFrom reads Secrets with a real client, and all else from a fake one.
type secretsFrom struct {
	client.Client
	secrets client.Client
}

func (c secretsFrom) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, is := into.(*corev1.Secret); is {
		return c.secrets.Get(ctx, key, into, options...)
	}
	return c.Client.Get(ctx, key, into, options...)
}

// A tenant has 31 EtcdClusters with TLS.managed, and adds thousands of keys to the Secrets that they own. Each pass held five of them to its end, and
// the passes of the namespace ended the operator, which has 512 MiB. Then the operator repaired the clusters of no other tenant.
func TestSecretsOfManyKeysTakeLittleMemoryOfTheOperator(t *testing.T) {
	raw := manyKeys(t, 70_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/secrets/") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(raw)
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	manyKeysOnly, err := client.New(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}}, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1beta2.EtcdCluster{})
	passes := turns.Share(queue.Concurrency)
	for i := range passes {
		b = b.WithObjects(&v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("c", i), UID: "uid-example"},
			Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}},
		})
	}
	c := secretsFrom{b.Build(), manyKeysOnly}
	r, err := New(c, c, events.NewFakeRecorder(999), Options{Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	r.secrets.Rereads = secrets.NewRereads()
	heaptest.Bound(t, 160, func() {
		var all sync.WaitGroup
		for i := range passes {
			all.Go(func() {
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: fmt.Sprint("c", i)}}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// What a pass holds of a Secret, it holds until it ends, and 31 passes of one namespace wait for slow members at the same time.
func TestAPassHoldsOnlyTheKeysOfASecretThatItReads(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := secretsFrom{fake.NewClientBuilder().WithScheme(scheme).Build(), secretsOfUnknownKeys{}}
	r := assemble(parts{Client: c, APIReader: c})
	heaptest.Holds(t, 4<<10, func() any {
		var held []*view.View
		for range turns.Share(queue.Concurrency) {
			_, v := beside(t)
			v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
			if err := r.secrets.ObserveSecrets(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			held = append(held, v)
		}
		return held
	})
}

// secretsOfUnknownKeys answers each read of a Secret with a new copy of 1 MiB. No key in it is one that the operator reads.
type secretsOfUnknownKeys struct{ client.Client }

func (secretsOfUnknownKeys) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	secret, _ := into.(*corev1.Secret)
	secret.ObjectMeta = clustertest.Controlled("uid-example", key.Name, nil)
	secret.Data = map[string][]byte{"other": make([]byte, 512<<10), "another": make([]byte, 512<<10)}
	return nil
}
