package kube_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

var many = client.ObjectKey{Namespace: "ns", Name: "many"}

func secretWith(change func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: many.Namespace, Name: many.Name}, Data: map[string][]byte{"ca.crt": []byte("ca")}}
	change(s)
	return s
}

func numbered(n int) map[string]string {
	texts := map[string]string{}
	for i := range n {
		texts["n"+strconv.Itoa(i)] = ""
	}
	return texts
}

// A tenant writes a Secret of many parts, and names it in all his objects. What an operator keeps of it would fill the memory for all namespaces.
func TestASecretOfManyPartsIsRefused(t *testing.T) {
	for says, change := range map[string]func(*corev1.Secret){
		"has 66 keys": func(s *corev1.Secret) {
			for key := range numbered(65) {
				s.Data[key] = nil
			}
		},
		"has 65 labels":           func(s *corev1.Secret) { s.Labels = numbered(65) },
		"has 65 annotations":      func(s *corev1.Secret) { s.Annotations = numbered(65) },
		"has 65 finalizers":       func(s *corev1.Secret) { s.Finalizers = make([]string, 65) },
		"has 65 owner references": func(s *corev1.Secret) { s.OwnerReferences = make([]metav1.OwnerReference, 65) },
		"has 600 KiB":             func(s *corev1.Secret) { s.Data["ca.crt"] = make([]byte, 600<<10-6) },
	} {
		api := fake.NewClientBuilder().WithObjects(secretWith(change)).Build()
		_, read := kube.SecretData(t.Context(), api, many.Namespace, many.Name, "ca.crt")
		updated := kube.UpdateSecret(t.Context(), api, many, func(*corev1.Secret) error { return nil })
		for _, err := range []error{read, updated} {
			if !errors.Is(err, kube.ErrSecretRefused) || !errors.Is(err, kube.ErrSecretMissing) || !strings.Contains(err.Error(), "Secret many in namespace ns "+says) {
				t.Errorf("%s: %v", says, err)
			}
		}
	}
}

// A pass or an attempt holds what it read while it waits for minutes.
func TestOfASecretOnlyTheKeysThatTheCallerReadsAreKept(t *testing.T) {
	own := v1beta2.Group + "/x"
	api := fake.NewClientBuilder().WithObjects(secretWith(func(s *corev1.Secret) {
		s.Data["acess-key-id"] = make([]byte, 1<<20)
		s.Labels, s.Annotations = numbered(3), map[string]string{"last-applied": strings.Repeat("x", 256<<10), own: "y"}
		s.OwnerReferences = []metav1.OwnerReference{{UID: "u", Name: "o", Kind: "K", APIVersion: "v1"}}
	})).Build()
	got, err := kube.ReadSecret(t.Context(), api, many, "ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	if content, named := got.Data["acess-key-id"]; string(got.Data["ca.crt"]) != "ca" || !named || content != nil {
		t.Errorf("it keeps %d contents: %d bytes of the misspelt key", len(got.Data), len(content))
	}
	if len(got.Labels) > 0 || len(got.ManagedFields) > 0 || len(got.Annotations) != 1 || got.Annotations[own] != "y" || len(got.OwnerReferences) != 1 || got.ResourceVersion == "" {
		t.Errorf("it keeps %+v", got.ObjectMeta)
	}
}

// slowSecrets answers after a second, and counts how many reads there are at the same time.
type slowSecrets struct {
	client.Reader
	now, most *atomic.Int32
}

func (s slowSecrets) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	<-time.After(time.Second)
	*into.(*corev1.Secret) = corev1.Secret{}
	return nil
}

// Each Secret that is decoded takes up to 30 MiB. Hundreds at the same time would end the operator. And one namespace that reads many must not delay the
// others.
func TestFewSecretsAreReadAtTheSameTimeAndNamespacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowSecrets{now: &atomic.Int32{}, most: &atomic.Int32{}}
		for range 100 {
			go func() { _, _ = kube.SecretData(t.Context(), slow, "tenant", "s") }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := kube.SecretData(t.Context(), slow, "other", "s"); err != nil || time.Since(began) > time.Second {
			t.Errorf("another namespace waited %s, error %v", time.Since(began), err)
		}
		<-time.After(time.Minute)
		if most := slow.most.Load(); most > 3 {
			t.Errorf("%d Secrets are read at the same time", most)
		}
	})
}
