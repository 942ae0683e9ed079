package services_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestTheBudgetOfAnotherIsLeftAlone(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	s.Budget, s.Foreign = state.Budget{}, []state.ForeignObject{{Kind: "PodDisruptionBudget", Name: "example"}}
	if step := services.ApplyBudget(s); step != nil {
		t.Errorf("applyBudget returned %+v", step)
	}
}

// Argo CD deletes each object that has the label of its application, has no owner, and is not in Git. With whenDeleted: Retain, claims have no owner,
// and the Secrets that cert-manager writes never have one. Many charts put this label among those of all objects.
func TestNoObjectWithoutAnOwnerGetsALabelByWhichAGitOpsToolFindsWhatItDeletes(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	labels := map[string]v1beta2.LabelValue{"team": "a"}
	for _, key := range []string{"app.kubernetes.io/instance", "argocd.argoproj.io/instance", "kapp.k14s.io/app", "tanka.dev/environment"} {
		labels[key] = "shop"
	}
	s.Spec.Metadata = &v1beta2.MetadataPolicy{
		Labels:      labels,
		Annotations: map[string]v1beta2.AnnotationValue{"argocd.argoproj.io/tracking-id": "shop", "argocd.argoproj.io/sync-options": "Prune=false"},
	}
	for object, owned := range map[state.MetadataDue]bool{
		{Kind: "PersistentVolumeClaim", Name: plantest.NameOf(0)}: false, {Kind: "Certificate", Name: "example-peer"}: false, {Kind: "Service", Name: "example"}: true, {Kind: "Pod", Name: plantest.NameOf(0)}: true,
	} {
		given, _ := services.MetadataFor(s, object.Kind, object.Name)
		if given.Labels["team"] != "a" || given.Annotations["argocd.argoproj.io/sync-options"] == "" {
			t.Errorf("%s lacks the other entries: %v", object.Kind, given)
		}
		delete(given.Labels, "team")
		if (len(given.Labels) == len(labels)-1) != owned || (given.Annotations["argocd.argoproj.io/tracking-id"] != "") != owned || !owned && len(given.Labels) > 0 {
			t.Errorf("%s gets %v", object.Kind, given)
		}
	}
}
