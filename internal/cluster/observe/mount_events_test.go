package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// A tenant wrote 300 events of 1 MiB about a member that does not start. Each pass read all of them at once, and the operator ended for lack of
// memory. The event of the kubelet among them still explains why the member does not start.
func TestTheLargeEventsOfATenantAreReadInPages(t *testing.T) {
	now := time.Now()
	s := &clustertest.LargeServer{}
	for i := range 100 {
		s.Objects = append(s.Objects, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("e", i)}, Reason: "FailedMount", Message: strings.Repeat("x", clustertest.Large),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "c-bcdfghjklm"},
		})
	}
	kubelet, _ := s.Objects[kubecache.PageSize+1].(*corev1.Event)
	kubelet.Message, kubelet.LastTimestamp = "there is no disk", metav1.NewTime(now)
	v := &view.View{Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, State: state.State{Namespace: "ns", Name: "c", Now: now, Members: []state.Member{{Name: "c-bcdfghjklm", Pod: state.PodStarting, Node: "n", PodCreated: now.Add(-time.Hour)}}}}
	o := observerOf(&view.KubeAPI{APIReader: s.Reader(t)})
	o.Explaining = NewExplaining()
	o.observeMounts(t.Context(), v)
	if said := v.Members[0].Unanswered; !strings.Contains(said, "there is no disk") {
		t.Errorf("the status says %.100q", said)
	}
	if most := s.Most.Load(); most > (kubecache.PageSize+1)*clustertest.Large {
		t.Errorf("one answer has %d KiB", most>>10)
	}
}
