package cluster

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// A policy that refuses a label on objects that exist must not keep the operator from anything else.
func TestAClusterGoesOnAndReportsAPolicyThatRefusesItsLabels(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	_, v := clustertest.Beside(t)
	secret := &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", "example-ca", nil)}
	services := []client.Object{&corev1.Service{ObjectMeta: clustertest.Controlled("uid-example", "example", nil)}, &corev1.Service{ObjectMeta: clustertest.Controlled("uid-example", "example-client", nil)}}
	var tried []string
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).WithObjects(services...).Build(), interceptor.Funcs{
		Update: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.UpdateOption) error {
			tried = append(tried, object.GetName())
			return policyDenies("Secret", object.GetName())
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			tried = append(tried, object.GetName())
			return policyDenies("Service", object.GetName())
		},
	})
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	v.UID = "uid-example"
	v.Spec.Metadata = &v1beta2.MetadataPolicy{Labels: map[string]v1beta2.LabelValue{"team": "a"}}
	v.MetadataDue = []state.MetadataDue{{Kind: "Secret", Name: "example-ca"}, {Kind: "Service", Name: "example"}, {Kind: "Service", Name: "example-client"}}
	r := assemble(parts{Client: api, APIReader: api})
	step, err := r.planAndAct(t.Context(), v)
	if _, done := step.(steps.Done); !done || err != nil {
		t.Errorf("the plan is %T %+v, %v", step, step, err)
	}
	if strings.Join(tried, " ") != "example-ca example" {
		t.Errorf("tried %v, want one object of each kind", tried)
	}
	if v.Skipped == nil || !strings.Contains(v.Skipped.Error(), "label Secret example-ca") || !strings.Contains(v.Skipped.Error(), "the label team is missing") {
		t.Errorf("reported is %v", v.Skipped)
	}
}
