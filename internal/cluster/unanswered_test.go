package cluster

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// All passes of a cluster ended before a member had answered, and its status did not report that.
func TestMembersThatDoNotAnswerForAMinuteAreReported(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(0), map[string]string{v1beta2.LabelCluster: "example"})}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", ContainerStatuses: []corev1.ContainerStatus{{
		Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
	there, v := beside(t, pod)
	dial := func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
		return clustertest.FakeMember{Silent: true}, nil
	}
	r, err := New(there.Client, there.APIReader, events.NewFakeRecorder(9), Options{Metrics: prometheus.NewRegistry(), Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	now := plantest.Noon
	r.Now, r.questions.Wake = func() time.Time { return now }, make(chan event.GenericEvent, 9)
	for _, pass := range []struct {
		after    time.Duration
		reported bool
	}{{0, false}, {behindGrace - time.Second, false}, {behindGrace, true}} {
		now = plantest.Noon.Add(pass.after)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(v.Cluster)}); err != nil {
			t.Fatal(err)
		}
		var live v1beta2.EtcdCluster
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(v.Cluster), &live); err != nil {
			t.Fatal(err)
		}
		ready := meta.FindStatusCondition(live.Status.Conditions, v1beta2.ConditionReady)
		if (ready != nil) != pass.reported {
			t.Errorf("after %s, the condition Ready is %+v", pass.after, ready)
		}
		if ready != nil && (ready.Reason != v1beta2.ReasonMemberDown || !strings.Contains(ready.Message, plantest.NameOf(0))) {
			t.Errorf("after %s, the condition Ready is %+v", pass.after, ready)
		}
	}
}

func TestAPassWithAnswersEndsTheReportOfMembersThatDoNotAnswer(t *testing.T) {
	r, v := beside(t)
	r.Events = events.NewFakeRecorder(9)
	r.questions.Memory.OfView(v).Questions = map[string]*members.Question{plantest.NameOf(0): {Done: make(chan struct{})}}
	for _, ended := range []bool{false, true} {
		if ended {
			r.memory.OfView(v).unanswered = behind{}
		}
		if err := r.foundUnanswered(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.Now = v.Now.Add(behindGrace - time.Second)
	}
	var live v1beta2.EtcdCluster
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(v.Cluster), &live); err != nil || len(live.Status.Conditions) > 0 {
		t.Errorf("the conditions are %+v, error %v", live.Status.Conditions, err)
	}
}

// Two members hung, and the Pod of the third was missing. The cache stayed behind, so the Pod was not created, and the status did not
// report that.
func TestACacheThatStaysBehindWhileMembersHangIsReported(t *testing.T) {
	r, v := beside(t)
	r.Events = events.NewFakeRecorder(9)
	r.APIReader = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			defer func() { object.SetGeneration(v.Cluster.Generation + 1) }()
			return c.Get(ctx, key, object, options...)
		},
	})
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.WithoutPod))
	v.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	v.Namespace, v.Name = "ns", "example"
	for range 2 {
		if _, err := r.endPending(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.Now = v.Now.Add(behindGrace)
	}
	var got v1beta2.EtcdCluster
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(v.Cluster), &got); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(got.Status.Conditions, v1beta2.ConditionReady); ready == nil || ready.Reason != v1beta2.ReasonCacheBehind {
		t.Errorf("the condition Ready is %+v", ready)
	}
}
