package secrets

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// An earlier release did not use the name. The upgrade would end all healing and all renewals of certificates.
func TestASecretOfAUserWithTheNameOfTheOperatorsStopsNothing(t *testing.T) {
	// A cluster of an earlier release: its own Secrets exist, and the user has one with the name that this release adds.
	s := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }, plantest.Secure)
	users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example" + v1beta2.OperatorSecretSuffix}, Data: map[string][]byte{"tls.crt": []byte("x")}}
	var objects []client.Object
	m := material.Material{HandedOut: map[string]*material.Secret{}}
	_, v := secretsBeside(t)
	v.State = s
	authority, err := material.NewCA(v.State)
	if err != nil {
		t.Fatal(err)
	}
	m.CA = &material.Secret{Data: map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key}}
	objects = append(objects, users, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", material.CASecret(v.State), nil), Data: m.CA.Data})
	for _, u := range state.Usages[:3] {
		held, err := m.NewSecret(s, u, steps.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", v.Name+u.Suffix, nil), Data: held.Data})
	}
	r, v := secretsBeside(t, objects...)
	v.State = s
	v.Members = slices.Clone(s.Members)
	v.Members[1].Pod, v.Members[1].Serving, v.Members[1].Answers = state.PodNone, false, false
	if err := r.ObserveSecrets(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for i := range v.Members {
		v.Members[i].Trust, v.Members[i].Loaded = v.Certificates.Trust, v.Certificates.Loaded
	}
	if v.TLS == nil {
		t.Error("the operator has no client certificate any more, although that of clients is there")
	}
	if step, is := plan.Plan(v.State).(steps.CreateMember); !is {
		t.Errorf("a Pod is missing, and the plan is %+v", plan.Plan(v.State))
	} else if step.Name != v.Members[1].Name {
		t.Errorf("the plan is %+v", step)
	}
}
