package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// lagging is a Reconciler whose cache keeps an EtcdCluster as it was, while the API server has a newer one.
func lagging(t *testing.T) (*Reconciler, client.Client, *events.FakeRecorder, *int) {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid-example", Generation: 1}}
	cluster.Spec = v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16", Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(cluster).WithObjects(cluster).Build()
	if err := live.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	cached := cluster.DeepCopy()
	cluster.Spec.Size = 3
	if err := live.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	writes := 0
	cache := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if into, is := object.(*v1beta2.EtcdCluster); is {
				cached.DeepCopyInto(into)
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			err := c.SubResource(sub).Patch(ctx, object, patch, options...)
			if err == nil {
				writes++
			}
			return err
		},
	})
	recorder := events.NewFakeRecorder(99)
	r, err := New(cache, live, recorder, Options{Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return r, live, recorder, &writes
}

func TestACacheThatStaysBehindIsReportedAfterAMinute(t *testing.T) {
	r, live, recorder, writes := lagging(t)
	now := plantest.Noon
	r.Now = func() time.Time { return now }
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "example"}}
	ready := func() *metav1.Condition {
		var cluster v1beta2.EtcdCluster
		if err := live.Get(t.Context(), request.NamespacedName, &cluster); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionReady)
	}
	passes := 0
	for now.Sub(plantest.Noon) < 10*time.Minute {
		early := now.Sub(plantest.Noon) < time.Minute
		result, err := r.Reconcile(t.Context(), request)
		if err != nil || result.RequeueAfter <= 0 {
			t.Fatalf("after %s: %+v, %v", now.Sub(plantest.Noon), result, err)
		}
		if passes == 0 && result.RequeueAfter > time.Second {
			t.Errorf("the first pause is %s, and a watch mostly ends within a second", result.RequeueAfter)
		}
		if is := ready(); early && is != nil {
			t.Errorf("reported after %s: %+v", now.Sub(plantest.Noon), is)
		}
		passes++
		now = now.Add(result.RequeueAfter)
	}
	is := ready()
	if is == nil || is.Reason != v1beta2.ReasonCacheBehind || !strings.Contains(is.Message, "EtcdCluster example") || !strings.Contains(is.Message, "2026-") {
		t.Errorf("Ready is %+v", is)
	}
	if *writes != 1 || len(recorder.Events) != 1 || passes > 35 {
		t.Errorf("%d writes of the status and %d events in %d passes, want one of each in at most 35", *writes, len(recorder.Events), passes)
	}
}

// A pass that begins before the cache has seen the last status writes nothing that lasts: the API server refuses its status. But if the
// watch of EtcdClusters hangs, a deleted Pod must get a successor all the same.
func TestAPassWaitsForASecondUntilTheCacheHasSeenTheOwnStatus(t *testing.T) {
	wrote := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		written, cached string
		after, pause    time.Duration
	}{
		"no status was written":              {"", "8", 0, 0},
		"the cache has an older EtcdCluster": {"9", "8", time.Millisecond, 20 * time.Millisecond},
		"the cache is still behind":          {"9", "8", 300 * time.Millisecond, 300 * time.Millisecond},
		"the second is nearly over":          {"9", "8", 900 * time.Millisecond, 100 * time.Millisecond},
		"the cache has that status":          {"9", "9", time.Millisecond, 0},
		"the cache has a newer EtcdCluster":  {"9", "10", time.Millisecond, 0},
		"the watch hangs":                    {"9", "8", time.Second, 0},
		"the watch has hung for long":        {"9", "8", time.Minute, 0},
		"the clock was set back":             {"9", "8", -time.Hour, 0},
		"the version is not a number":        {"9", "x", time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			known := remembered{wrote: ownStatus{at: wrote, version: c.written}}
			cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.cached}}
			if pause := max(known.untilSeen(cluster, wrote.Add(c.after)), 0); pause != c.pause {
				t.Errorf("waits for %s, want %s", pause, c.pause)
			}
		})
	}
}

func TestAReconcilerDoesNothingUntilItsCacheHasItsOwnStatus(t *testing.T) {
	r, live, _, writes := lagging(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.Now = func() time.Time { return now }
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "example"}}
	known := r.memory.Of(request.NamespacedName, "uid-example")
	known.wrote = ownStatus{at: now, version: "999999"}
	pods := func() int {
		var list corev1.PodList
		if err := live.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	for range 20 {
		result, err := r.Reconcile(t.Context(), request)
		if err != nil || result.RequeueAfter <= 0 || *writes != 0 || pods() != 0 {
			t.Fatalf("the next pass comes after %s, %d writes, error %v", result.RequeueAfter, *writes, err)
		}
		if now = now.Add(result.RequeueAfter); now.Sub(known.wrote.at) == unseenLimit {
			break
		}
	}
	if now.Sub(known.wrote.at) != unseenLimit {
		t.Errorf("waits for more than %s", unseenLimit)
	}
	if known.behind.passes != 0 {
		t.Error("the status would say that the cache is behind")
	}
	if _, err := r.Reconcile(t.Context(), request); err != nil || known.behind.passes == 0 {
		t.Errorf("after that, no pass planned: %v", err)
	}
}

// Otherwise the passes of a cluster whose cache is slow would never wait.
func TestAPassNotesTheStatusThatItWrote(t *testing.T) {
	r, live, _, _ := lagging(t)
	r.Client = metrics.CountedClient{Client: live, Writes: r.metrics.Writes}
	key := client.ObjectKey{Namespace: "ns", Name: "example"}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	var cluster v1beta2.EtcdCluster
	if err := live.Get(t.Context(), key, &cluster); err != nil {
		t.Fatal(err)
	}
	if wrote := r.memory.Of(key, cluster.UID).wrote.version; wrote != cluster.ResourceVersion {
		t.Errorf("noted version %q, want %q", wrote, cluster.ResourceVersion)
	}
}

// Otherwise each failure would be forgotten before the next one, and a pass that fails would be tried again hundreds of times a second.
func TestAPassThatFailedIsLeftToItsBackOff(t *testing.T) {
	for name, c := range map[string]struct {
		actErr, skipped error
		noted           bool
	}{
		"it did its step":            {nil, nil, true},
		"its step failed":            {errors.New("refused"), nil, false},
		"an object of it is refused": {nil, errors.New("refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := clustertest.State(plantest.Formed, plantest.Members(3))
			r, cluster := recorded(t, s, v1beta2.EtcdClusterStatus{})
			r.Events, r.Now = events.NewFakeRecorder(9), time.Now
			v := &view.View{State: s, Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Skipped: c.skipped}
			if _, err := r.report(t.Context(), v, steps.DeletePod{Name: plantest.NameOf(0)}, c.actErr); err != nil {
				t.Fatal(err)
			}
			if noted := r.memory.OfView(v).wrote.version != ""; noted != c.noted {
				t.Errorf("noted is %t, want %t", noted, c.noted)
			}
		})
	}
}

// Otherwise the status would say that the cache has been behind all the time in which members did not answer.
func TestAPassWithoutAnswersIsNoneThatFoundTheCacheBehind(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	r, cluster := recorded(t, s, v1beta2.EtcdClusterStatus{})
	v := &view.View{State: s, Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	r.memory.OfView(v).behind.found(s.Now.Add(-time.Hour))
	if _, err := r.foundBehind(t.Context(), v, view.ErrBehind); err != nil || r.memory.OfView(v).behind.since != s.Now {
		t.Errorf("the cache counts as behind since %s, error %v", r.memory.OfView(v).behind.since, err)
	}
}

// The cache lags and a member hangs: passes end for one cause and then for the other. The status must report that nothing is done.
func TestPassesThatEndForTwoCausesAreReported(t *testing.T) {
	r, v := beside(t)
	r.Events = events.NewFakeRecorder(99)
	r.questions.Memory.OfView(v).Questions = map[string]*members.Question{}
	for begin := v.Now; v.Now.Sub(begin) < 2*behindGrace; v.Now = v.Now.Add(2200 * time.Millisecond) {
		r.memory.OfView(v).unanswered = behind{} // members have answered, and the step is confirmed
		if _, err := r.foundBehind(t.Context(), v, view.ErrBehind); err != nil {
			t.Fatal(err)
		}
		v.Now = v.Now.Add(20 * time.Millisecond)
		if err := r.foundUnanswered(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	var live v1beta2.EtcdCluster
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(v.Cluster), &live); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(live.Status.Conditions, v1beta2.ConditionReady); ready == nil || ready.Reason != v1beta2.ReasonCacheBehind {
		t.Errorf("after two minutes without a step, the condition Ready is %+v", ready)
	}
}
