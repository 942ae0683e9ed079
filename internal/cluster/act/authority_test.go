package act

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The keys of a person in the Secret of the CA were lost, or a Secret that had changed since was overwritten.
func TestTheKeysForOthersAreAddedToTheSecretOfTheCA(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} })
	authority, err := material.NewCA(s)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key, "note": []byte("of a person")}
	a, v := actorBeside(t, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", material.CASecret(s), nil), Data: held})
	v.State = s
	var before corev1.Secret
	key := client.ObjectKey{Namespace: "ns", Name: material.CASecret(s)}
	if err := a.Client.Get(t.Context(), key, &before); err != nil {
		t.Fatal(err)
	}
	v.Material = material.Material{HandedOut: map[string]*material.Secret{}, CA: &material.Secret{
		Data: map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key, "note": nil}, Version: before.ResourceVersion, // as a pass reads it
	}}
	if v.Material.HandedOut["client"], err = v.Material.NewSecret(s, state.Usages[2], steps.WriteCertificates{}); err != nil {
		t.Fatal(err)
	}
	step := steps.HandOutCA{Cause: "it has none"}
	if err := a.Act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	var after corev1.Secret
	if err := a.Client.Get(t.Context(), key, &after); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(after.Data["tls.crt"], authority.Cert) || !bytes.Equal(after.Data["tls.key"], authority.Key) || string(after.Data["note"]) != "of a person" || len(after.Data) != 5 {
		t.Errorf("the Secret has the keys %v", after.Data)
	}
	if err := a.Act(t.Context(), v, step); !apierrors.IsConflict(err) {
		t.Errorf("a Secret that has changed since is written: %v", err)
	}
}
