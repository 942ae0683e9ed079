package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestAPodThatCannotMountItsVolumesNamesTheCause(t *testing.T) {
	event := func(name, reason, message string, ago time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "m"}, LastTimestamp: metav1.NewTime(noon.Add(-ago)),
		}
	}
	r, v := beside(t)
	r.APIReader = fake.NewClientBuilder().WithScheme(r.Client.Scheme()).
		WithObjects(
			event("old", "FailedMount", "of an earlier Pod", time.Hour),
			event("first", "FailedAttachVolume", "timed out", time.Minute),
			event("last", "FailedMount", `secret "example-peer-tls" not found`, time.Second),
			event("other", "Scheduled", "assigned", 0),
		).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).Build()
	v.Members = []plan.Member{{Name: "m", Pod: plan.PodStarting, Node: "one", PodCreated: noon.Add(-2 * time.Minute)}}
	r.observeMounts(t.Context(), v)
	if got := v.Members[0].Unanswered; !strings.Contains(got, `secret "example-peer-tls" not found`) {
		t.Errorf("the cause is %q", got)
	}
	v.Members[0].Unanswered, v.Members[0].PodCreated = "", noon.Add(-10*time.Second)
	if r.observeMounts(t.Context(), v); v.Members[0].Unanswered != "" {
		t.Errorf("the cause of a new Pod is %q", v.Members[0].Unanswered)
	}
}

func TestAVolumeInPhaseLostIsConfirmedToHaveNoData(t *testing.T) {
	name := nameOf(0)
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", name, nil), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}}
	r, v := beside(t, volume)
	if err := r.confirmAbsent(t.Context(), v, &corev1.PersistentVolumeClaim{}, name); err != nil {
		t.Error(err)
	}
	if got := volumeOf(volume); got != plan.VolumeLost {
		t.Errorf("the volume is %q", got)
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

func TestAMemberWhosePodIsReadyIsNotRemovedOnAnOldCache(t *testing.T) {
	name := nameOf(0)
	pod := &corev1.Pod{ObjectMeta: controlled("uid-example", name, nil)}
	step := plan.RemoveMember{Name: name, Cause: "it has not served for 5m"}
	r, v := beside(t, pod.DeepCopy())
	if err := r.confirmData(t.Context(), v, step); err != nil {
		t.Errorf("a Pod that is not ready: %v", err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	r, v = beside(t, pod)
	if err := r.confirmData(t.Context(), v, step); !errors.Is(err, errBehind) {
		t.Errorf("a Pod that is ready: %v", err)
	}
}

// The cache is of five minutes ago, when the member started. It has served since, and a drain has just stopped it.
func TestAMemberThatServedMeanwhileIsNotRemovedOnAnOldCache(t *testing.T) {
	notReady := func(since time.Time) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(0), nil)}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)}}
		return pod
	}
	step := plan.RemoveMember{Name: nameOf(0), Cause: "it has not served for 5m"}
	for name, test := range map[string]struct {
		live *corev1.Pod
		want error
	}{
		"it has been so since the cache saw it": {notReady(noon.Add(-5 * time.Minute)), nil},
		"it has served meanwhile":               {notReady(noon), errBehind},
	} {
		r, v := beside(t, notReady(noon.Add(-5*time.Minute)))
		live, _ := beside(t, test.live)
		r.APIReader = live.Client
		if err := r.confirmData(t.Context(), v, step); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
