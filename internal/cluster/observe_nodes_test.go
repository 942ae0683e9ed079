package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestTheZoneOfAMemberIsThatOfItsPodOrNode(t *testing.T) {
	node := func(name, zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	r, v := beside(t, node("one", "a"), node("two", "b"))
	v.Members = []plan.Member{{Node: "one"}, {Node: "two", Zone: "label"}, {Node: "lost"}, {}}
	if err := r.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a", "label", "", ""} {
		if got := v.Members[i].Zone; got != want {
			t.Errorf("the zone of member %d is %q, want %q", i, got, want)
		}
	}
	if len(r.zones.known) != 2 {
		t.Errorf("known zones are %v, want those of one and lost", r.zones.known)
	}
}

func TestAMemberThatReplacesAServingOnePrefersItsZone(t *testing.T) {
	s := state(formed, members(3), with(3, func(m *plan.Member) { m.InMembership, m.Learner = true, true }))
	for i, zone := range []string{"a", "b", "c"} {
		s.Members[i].Zone = zone
	}
	s.Asked = plan.NewAsked(map[string]string{v1beta2.AnnotationReplace: s.Members[1].Name})
	join := plan.CreateMember{Name: s.Members[3].Name, Incarnation: 1, Start: plan.StartJoin}
	pod := newPod(s, join, "")
	terms := pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].Preference.MatchExpressions[0].Values[0] != "b" || pod.Spec.Affinity.PodAntiAffinity == nil {
		t.Errorf("the affinity is %+v", pod.Spec.Affinity)
	}
	s.Asked = plan.Asked{}
	without := newPod(s, join, "")
	if without.Spec.Affinity.NodeAffinity != nil || without.Annotations[annotationTemplate] != pod.Annotations[annotationTemplate] {
		t.Errorf("the affinity without a replacement is %+v, and the templates are %v and %v", without.Spec.Affinity, without.Annotations, pod.Annotations)
	}
}

func TestAFencedMemberIsOutOfTheClientService(t *testing.T) {
	s := state(formed, members(3))
	s.Asked = plan.NewAsked(map[string]string{v1beta2.AnnotationFence: s.Members[1].Name})
	pod := newPod(s, plan.CreateMember{Name: s.Members[1].Name, Incarnation: 1, Start: plan.StartRejoin}, "")
	if _, selected := pod.Labels[labelVoter]; selected {
		t.Error("the new Pod of a fenced member has the label that the client Service selects")
	}
	running := &corev1.Pod{ObjectMeta: controlled("uid-example", s.Members[1].Name, map[string]string{labelVoter: "true"})}
	r, v := beside(t, running)
	if err := r.act(t.Context(), v, plan.RemoveFromService{Name: running.Name}); err != nil {
		t.Fatal(err)
	}
	var after corev1.Pod
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(running), &after); err != nil || after.Labels[labelVoter] != "" {
		t.Errorf("labels are %v, %v", after.Labels, err)
	}
}

// A cloud sets the label some time after a node joins. Members would be spread as if the zone were unknown until the
// operator restarts.
func TestTheZoneOfANodeIsReadAgainUntilItHasOne(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
	r, v := beside(t, node)
	v.Members = []plan.Member{{Name: "m", Node: "host"}}
	if err := r.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	node.Labels = map[string]string{corev1.LabelTopologyZone: "a"} // the cloud's controller sets it
	if err := r.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	v.Now = v.Now.Add(zonePause)
	if err := r.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if v.Members[0].Zone != "a" {
		t.Errorf("the zone is %q until the operator restarts", v.Members[0].Zone)
	}
}
