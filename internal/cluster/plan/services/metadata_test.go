package services_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func labelled(s *state.State) {
	s.Spec.Metadata = &v1beta2.MetadataPolicy{Labels: map[string]v1beta2.LabelValue{"team": "a"}}
}

func lacking(objects ...state.MetadataDue) plantest.Change {
	return func(s *state.State) { s.MetadataDue = objects }
}

func TestPlanMetadata(t *testing.T) {
	secret, other, service := state.MetadataDue{Kind: "Secret", Name: "example-ca"}, state.MetadataDue{Kind: "Secret", Name: "example-peer-tls"}, state.MetadataDue{Kind: "Service", Name: "example"}
	refusing := func(steps ...steps.ApplyMetadata) plantest.Change {
		return func(s *state.State) {
			for _, step := range steps {
				plan.Refuse(s, step)
			}
		}
	}
	plantest.Plans{
		"an object without the labels of the spec gets them": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, lacking(secret, service)), steps.ApplyMetadata(secret),
		},
		"a kind that was refused in this pass is not tried again, and the next kind is": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, lacking(secret, other, service), refusing(steps.ApplyMetadata(secret))), steps.ApplyMetadata(service),
		},
		"the plan goes on if all kinds were refused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, lacking(secret, other, service), refusing(steps.ApplyMetadata(secret), steps.ApplyMetadata(service)), plantest.With(2, func(m *state.Member) { m.Outdated = true })),
			plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, plantest.With(2, func(m *state.Member) { m.Outdated = true }))),
		},
		"a member that is lost is started first": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, lacking(service), plantest.With(1, plantest.WithoutPod)), plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, plantest.With(1, plantest.WithoutPod))),
		},
		"a paused cluster is not changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), labelled, lacking(service), func(s *state.State) { s.Spec.Paused = true }), steps.Idle{Reason: v1beta2.ReasonPaused, Message: plantest.PausedMessage},
		},
	}.Run(t, plan.Plan)
}

func TestTheSettingsOfPodsAndOfTheClientServiceComeBeforeThoseOfAllObjects(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), labelled)
	s.Spec.Pod = &v1beta2.PodPolicy{Labels: map[string]string{"team": "pods"}}
	s.Spec.Service = &v1beta2.ServicePolicy{Labels: map[string]string{"team": "clients"}}
	for object, wins := range map[state.MetadataDue]bool{
		{Kind: "Pod", Name: plantest.NameOf(0)}: false, {Kind: "Service", Name: "example-client"}: false, {Kind: "Service", Name: "example"}: true, {Kind: "Secret", Name: "example-ca"}: true, {Kind: "PersistentVolumeClaim", Name: plantest.NameOf(0)}: true,
	} {
		given, _ := services.MetadataFor(s, object.Kind, object.Name)
		if (given.Labels["team"] == "a") != wins {
			t.Errorf("%s %s gets %v", object.Kind, object.Name, given.Labels)
		}
	}
}

func TestOnlyObjectsThatDifferAreDue(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "example"}}
	if services.NoteMetadata(&s, "Service", "example", service); len(s.MetadataDue) != 0 {
		t.Errorf("without spec.metadata: %v", s.MetadataDue)
	}
	labelled(&s)
	given, _ := services.MetadataFor(s, "Service", "example")
	given.Stamp(service)
	if services.NoteMetadata(&s, "Service", "example", service); len(s.MetadataDue) != 0 {
		t.Errorf("with the labels: %v", s.MetadataDue)
	}
	s.Spec.Metadata = nil
	if services.NoteMetadata(&s, "Service", "example", service); len(s.MetadataDue) != 1 {
		t.Errorf("after the labels were removed from the spec: %v", s.MetadataDue)
	}
}
