package cluster

import (
	"context"
	"crypto/tls"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// passes runs one pass after another for the EtcdCluster example of one member, with a clock of its own.
type passes struct {
	*Reconciler
	t    *testing.T
	now  time.Time
	key  client.ObjectKey
	live client.WithWatch
}

func newPasses(t *testing.T, objects ...client.Object) *passes {
	t.Helper()
	there, v := beside(t, objects...)
	v.Cluster.Spec.Size, v.Cluster.Spec.Pod = 1, &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if err := there.Client.Update(t.Context(), v.Cluster); err != nil {
		t.Fatal(err)
	}
	r, err := New(there.Client, there.APIReader, events.NewFakeRecorder(99), Options{Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	live, _ := there.Client.(client.WithWatch)
	p := &passes{Reconciler: r, t: t, now: plantest.Noon, key: client.ObjectKeyFromObject(v.Cluster), live: live}
	r.Now, r.questions.Wake = func() time.Time { return p.now }, make(chan event.GenericEvent, 9)
	return p
}

// pass runs a pass, and returns the pause that it asks for.
func (p *passes) pass() time.Duration {
	p.t.Helper()
	result, err := p.Reconcile(p.t.Context(), ctrl.Request{NamespacedName: p.key})
	if err != nil {
		p.t.Fatal(err)
	}
	return result.RequeueAfter
}

// known is what the operator remembers of the EtcdCluster.
func (p *passes) known() *remembered { return p.memory.Of(p.key, "uid-example") }

// ready is the condition Ready in the API server, or nil.
func (p *passes) ready() *metav1.Condition {
	p.t.Helper()
	var live v1beta2.EtcdCluster
	if err := p.live.Get(p.t.Context(), p.key, &live); err != nil {
		p.t.Fatal(err)
	}
	return meta.FindStatusCondition(live.Status.Conditions, v1beta2.ConditionReady)
}

// Another program that deletes what the operator creates would keep the operator busy: fifty times in a second.
func TestPassesThatRepeatAStepPauseLongerEachTime(t *testing.T) {
	p := newPasses(t)
	for i, want := range []time.Duration{20 * time.Millisecond, queue.FirstRepeat, 2 * queue.FirstRepeat, 4 * queue.FirstRepeat} {
		if pause := p.pass(); pause != want {
			t.Errorf("pass %d: the next one comes after %s, want %s", i, pause, want)
		}
		if err := p.Client.DeleteAllOf(t.Context(), &corev1.Service{}, client.InNamespace(p.key.Namespace)); err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(time.Second)
	}
}

// schedule gives each Pod a node, because one without a node waits for the scheduler.
func (p *passes) schedule() {
	p.t.Helper()
	var all corev1.PodList
	if err := p.Client.List(p.t.Context(), &all); err != nil || len(all.Items) == 0 {
		p.t.Fatalf("%d Pods: %v", len(all.Items), err)
	}
	for i := range all.Items {
		all.Items[i].Spec.NodeName = "node-1"
		if err := p.Client.Update(p.t.Context(), &all.Items[i]); err != nil {
			p.t.Fatal(err)
		}
	}
}

// A cluster that has waited for 14 minutes is looked at less often. When the end of its wait is near, looks come often again.
func TestPassesComeOftenAgainWhenTheEndOfAWaitIsNear(t *testing.T) {
	p := newPasses(t)
	for range 3 { // it creates the Services and the member, and begins to wait
		p.pass()
		p.now = p.now.Add(time.Second)
	}
	p.schedule()
	p.pass()
	p.now = p.now.Add(14 * time.Minute)
	if pause := p.pass(); pause < queue.Slowest {
		t.Errorf("after 14 minutes, the next pass comes after %s, want at least %s", pause, queue.Slowest)
	}
	p.paces.Of(p.key, "uid-example").Requeue = queue.Slowest // as if the last pass had waited for something else
	if pause := p.pass(); pause > time.Second {
		t.Errorf("near its end, the next pass comes after %s, want at most a second", pause)
	}
}

// The operator would keep in memory what it knew of each EtcdCluster that ever existed.
func TestADeletedEtcdClusterIsForgotten(t *testing.T) {
	p := newPasses(t)
	p.pass()
	if known := p.memory.Count(); known != 1 {
		t.Fatalf("%d EtcdClusters are remembered after a pass, want 1", known)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
	if err := p.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	p.pass()
	if known := p.memory.Count(); known != 0 {
		t.Errorf("%d EtcdClusters are remembered after the deletion, want none", known)
	}
}

// The status of a cluster whose cache lagged twice in a minute, for a moment, would report that no step was taken in that time.
func TestAPassInBetweenEndsTheTimeThatTheCacheWasBehind(t *testing.T) {
	p := newPasses(t)
	lags := false
	p.APIReader = interceptor.NewClient(p.live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, object, options...)
			if lags {
				object.SetGeneration(object.GetGeneration() + 1)
			}
			return err
		},
	})
	p.pass() // creates the Services
	for _, pass := range []struct {
		after time.Duration
		lags  bool
	}{{time.Second, true}, {behindGrace / 2, false}, {behindGrace + time.Second, true}} {
		p.now, lags = plantest.Noon.Add(pass.after), pass.lags
		if err := p.live.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(p.key.Namespace)); err != nil {
			t.Fatal(err) // the pass has to create it again
		}
		p.pass()
		if counted := p.known().behind.passes > 0; counted != pass.lags {
			t.Errorf("after %s, the pass counts as behind: %t, want %t", pass.after, counted, pass.lags)
		}
		if is := p.ready(); is.Reason == v1beta2.ReasonCacheBehind {
			t.Errorf("after %s, the status reports: %s", pass.after, is.Message)
		}
	}
}

// The status of a cluster with a member that was silent twice in a minute, for a moment, would report that nothing was done in that time.
func TestAPassInBetweenEndsTheTimeThatMembersWereSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(0), map[string]string{v1beta2.LabelCluster: "example"})}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", ContainerStatuses: []corev1.ContainerStatus{{
			Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		p := newPasses(t, pod)
		var silent atomic.Bool
		p.questions.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
			return clustertest.FakeMember{Silent: silent.Load()}, nil
		}
		silent.Store(true)
		p.pass()
		p.now = plantest.Noon.Add(behindGrace / 2)
		silent.Store(false)
		answers := func() bool {
			q := p.questions.Memory.Of(p.key, "uid-example").Questions[plantest.NameOf(0)]
			return q == nil || q.IsDone() && !q.Hung
		}
		for p.pass(); p.ready() == nil || !answers(); p.pass() {
			select {
			case <-p.questions.Wake: // the member answered, or the question took too long
			case <-time.After(50 * time.Millisecond):
			}
		}
		p.now = plantest.Noon.Add(behindGrace)
		silent.Store(true)
		p.pass()
		if p.known().unanswered.passes != 1 {
			t.Errorf("%d passes in a row count as unanswered, want 1", p.known().unanswered.passes)
		}
		if is := p.ready(); strings.Contains(is.Message, "no complete answer") {
			t.Errorf("the status reports: %s", is.Message)
		}
		<-time.After(time.Minute) // by the clock of the test: all questions end
	})
}
