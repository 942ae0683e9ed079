package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestTheZoneOfAMemberIsThatOfItsPodOrNode(t *testing.T) {
	node := func(name, zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	o, v := observerBeside(t, node("one", "a"), node("two", "b"))
	v.Members = []state.Member{{Node: "one"}, {Node: "two", Zone: "label"}, {Node: "lost"}, {}}
	if err := o.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a", "label", "", ""} {
		if got := v.Members[i].Zone; got != want {
			t.Errorf("the zone of member %d is %q, want %q", i, got, want)
		}
	}
	if len(o.zones.known) != 2 {
		t.Errorf("known zones are %v, want those of one and lost", o.zones.known)
	}
}

func TestAMemberThatReplacesAServingOnePrefersItsZone(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(3, func(m *state.Member) { m.InMembership, m.Learner = true, true }))
	for i, zone := range []string{"a", "b", "c"} {
		s.Members[i].Zone = zone
	}
	s.Asked = state.NewAsked(map[string]string{v1beta2.AnnotationReplace: s.Members[1].Name})
	join := steps.CreateMember{Name: s.Members[3].Name, Incarnation: 1, Start: state.StartJoin}
	pod := pods.NewPod(s, join, "")
	terms := pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].Preference.MatchExpressions[0].Values[0] != "b" || pod.Spec.Affinity.PodAntiAffinity == nil {
		t.Errorf("the affinity is %+v", pod.Spec.Affinity)
	}
	s.Asked = state.Asked{}
	without := pods.NewPod(s, join, "")
	if without.Spec.Affinity.NodeAffinity != nil || without.Annotations[pods.AnnotationTemplate] != pod.Annotations[pods.AnnotationTemplate] {
		t.Errorf("the affinity without a replacement is %+v, and the templates are %v and %v", without.Spec.Affinity, without.Annotations, pod.Annotations)
	}
}

// A cloud sets the label some time after a node joins. Members would be spread as if the zone were unknown until the
// operator restarts.
func TestTheZoneOfANodeIsReadAgainUntilItHasOne(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
	o, v := observerBeside(t, node)
	v.Members = []state.Member{{Name: "m", Node: "host"}}
	if err := o.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	node.Labels = map[string]string{corev1.LabelTopologyZone: "a"} // the cloud's controller sets it
	if err := o.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	v.Now = v.Now.Add(zonePause)
	if err := o.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if v.Members[0].Zone != "a" {
		t.Errorf("the zone is %q until the operator restarts", v.Members[0].Zone)
	}
}
