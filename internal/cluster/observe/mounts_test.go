package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestAPodThatCannotMountItsVolumesNamesTheCause(t *testing.T) {
	event := func(name, reason, message string, ago time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "m"}, LastTimestamp: metav1.NewTime(plantest.Noon.Add(-ago)),
		}
	}
	o, v := observerBeside(t)
	o.APIReader = fake.NewClientBuilder().WithScheme(o.Client.Scheme()).
		WithObjects(
			event("old", "FailedMount", "of an earlier Pod", time.Hour),
			event("first", "FailedAttachVolume", "timed out", time.Minute),
			event("last", "FailedMount", `secret "example-peer-tls" not found`, time.Second),
			event("other", "Scheduled", "assigned", 0),
		).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).Build()
	v.Members = []state.Member{{Name: "m", Pod: state.PodStarting, Node: "one", PodCreated: plantest.Noon.Add(-2 * time.Minute)}}
	o.observeMounts(t.Context(), v)
	if got := v.Members[0].Unanswered; !strings.Contains(got, `secret "example-peer-tls" not found`) {
		t.Errorf("the cause is %q", got)
	}
	v.Members[0].Unanswered, v.Members[0].PodCreated = "", plantest.Noon.Add(-10*time.Second)
	if o.observeMounts(t.Context(), v); v.Members[0].Unanswered != "" {
		t.Errorf("the cause of a new Pod is %q", v.Members[0].Unanswered)
	}
}

func TestTheDomainOfTheKubernetesClusterIsReadFromTheSearchPath(t *testing.T) {
	for resolv, want := range map[string]string{
		"nameserver 10.96.0.10\nsearch ns.svc.corp.example svc.corp.example corp.example\noptions ndots:5\n": "corp.example",
		"search svc.cluster.local.\n": "cluster.local",
		"nameserver 1.1.1.1\n":        "",
	} {
		if got := domainOf(resolv); got != want {
			t.Errorf("%q: %q, want %q", resolv, got, want)
		}
	}
}
