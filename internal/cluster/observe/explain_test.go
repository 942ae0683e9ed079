package observe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// unexplained is a pass in which each explanation has something to ask, and gets no answer.
func unexplained(t *testing.T) (*Observer, *view.View) {
	t.Helper()
	o, v := observerBeside(t)
	live, is := o.Client.(client.WithWatch)
	if !is {
		t.Fatalf("the client is a %T", o.Client)
	}
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	hangs := interceptor.NewClient(live, interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return hang(ctx)
		},
		Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
			return hang(ctx)
		},
	})
	o.Client, o.APIReader, o.Explaining = hangs, hangs, NewExplaining()
	o.SeedProgress = func(ctx context.Context, _ string) (seed.Progress, error) { return seed.Progress{}, hang(ctx) }
	v.Now = time.Now()
	v.Members = startingView("ns").Members
	v.Members[0].Seed, v.Addresses[v.Members[0].Name] = &state.Seed{}, "192.0.2.1"
	v.Restore = &v1beta2.ClusterRestoreStatus{Step: v1beta2.RestoreSeeding}
	v.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{}}
	return o, v
}

// startingView is a pass of a cluster of three whose Pods wait for their volumes.
func startingView(namespace string) *view.View {
	now := time.Now()
	v := &view.View{Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, State: state.State{Namespace: namespace, Name: "c", Now: now}}
	for i := range 3 {
		v.Members = append(v.Members, state.Member{Name: plantest.NameOf(i), Pod: state.PodStarting, Node: "n", PodCreated: now.Add(-time.Hour)})
	}
	return v
}

// The storage, a webhook and a seed of a cluster hung. The reads for the messages took the whole time of each pass, so the cluster was not repaired.
func TestWhatOnlyExplainsLeavesAPassTheTimeToPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i, read := range explanations {
			o, v := unexplained(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			read(o, ctx, v)
			if took := time.Since(begin); took != time.Second {
				t.Errorf("explanation %d took %s. If it is 0, let unexplained give it a server that hangs. If it is long, end it with its context", i, took)
			}
			cancel()
		}
		o, v := unexplained(t)
		ctx, cancel := context.WithTimeout(t.Context(), queue.PassTimeout)
		defer cancel()
		begin := time.Now()
		if o.explain(ctx, v); time.Since(begin) > explainTimeout {
			t.Errorf("all explanations took %s", time.Since(begin))
		}
		if explainTimeout > queue.PassTimeout/10 {
			t.Errorf("explanations may take %s of %s", explainTimeout, queue.PassTimeout)
		}
	})
}

// slowEvents is an API server whose lists of events take some time for each page.
type slowEvents struct {
	client.Reader
	takes func(namespace string) (page time.Duration, pages int)
	lists *atomic.Int32
}

func (s slowEvents) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	list, is := into.(*corev1.EventList)
	if !is {
		return nil
	}
	page, pages := s.takes(o.Namespace)
	s.lists.Add(1)
	select {
	case <-time.After(page):
	case <-ctx.Done():
		return ctx.Err()
	}
	list.Items = []corev1.Event{{Reason: "FailedMount", Message: "there is no disk"}, {Reason: "Pulled", Message: "no cause"}}
	for i := range list.Items {
		list.Items[i].LastTimestamp.Time = time.Now()
	}
	if len(o.Continue) < pages-1 {
		list.Continue = o.Continue + "x"
	}
	return nil
}

func slow(takes func(namespace string) (time.Duration, int)) *Observer {
	o := observerOf(&view.KubeAPI{APIReader: slowEvents{takes: takes, lists: &atomic.Int32{}}})
	o.Gate, o.Explaining = kubecache.NewListGate(), NewExplaining()
	return o
}

// explainedAfter does the explanations of a cluster again and again, as passes do. It returns how long the longest took, and when all members had a cause.
func explainedAfter(ctx context.Context, o *Observer, namespace string) (longest, explained time.Duration) {
	begin := time.Now()
	for ctx.Err() == nil && explained == 0 {
		v := startingView(namespace)
		for i := range v.Members {
			v.Members[i].PodCreated = begin.Add(-time.Hour)
		}
		start := time.Now()
		o.explain(ctx, v)
		longest, explained = max(longest, time.Since(start)), time.Since(begin)+1
		for _, m := range v.Members {
			if !strings.Contains(m.Unanswered, "there is no disk") {
				explained = 0
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return longest, explained
}

// The storage of a Kubernetes failed, and the Pods of all clusters waited for their volumes. Each list of events took the API server 250 ms. Each pass
// waited for the lists of the others until its time was over, so no cluster of that Kubernetes was repaired.
func TestPassesPlanWhileTheStorageOfAllClustersFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := slow(func(string) (time.Duration, int) { return 250 * time.Millisecond, 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for i := range queue.Concurrency {
			all.Go(func() {
				longest, explained := explainedAfter(ctx, o, fmt.Sprint("ns", i))
				if longest > explainTimeout || explained == 0 {
					t.Errorf("cluster %d: a pass took %s to explain, and all members have a cause after %s", i, longest, explained)
				}
			})
		}
		all.Wait()
	})
}

// A tenant has six namespaces, each with a cluster that does not start and large events about its Pods: five pages of 15 MiB, 500 ms each. No cluster of
// another tenant whose Pods did not start was repaired.
func TestEventsOfATenantTakeNoPassOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := slow(func(namespace string) (time.Duration, int) {
			if namespace == "victim" {
				return 10 * time.Millisecond, 1
			}
			return 500 * time.Millisecond, maxMountPages
		})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { explainedAfter(ctx, o, fmt.Sprint("hostile", i)) })
		}
		synctest.Wait()
		if longest, explained := explainedAfter(ctx, o, "victim"); longest > explainTimeout || explained > time.Hour {
			t.Errorf("a pass took %s to explain, and the members have a cause after %s", longest, explained)
		}
		stop()
		all.Wait()
	})
}

// A step that lists the Pods of a restore waited until events of other clusters were read.
func TestALongListOfEventsDelaysNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := slow(func(string) (time.Duration, int) { return time.Hour, 1 })
		var all sync.WaitGroup
		for i := range explainAtOnce {
			all.Go(func() { o.explain(t.Context(), startingView(fmt.Sprint("ns", i))) })
		}
		synctest.Wait()
		begin := time.Now()
		if _, err := o.LivePods(t.Context(), startingView("ns")); err != nil || time.Since(begin) > 0 {
			t.Errorf("the step waited for %s, error %v", time.Since(begin), err)
		}
		all.Wait()
	})
}

// Each list of events has the API server read all events of the namespace. A pass made three for each Pod, and each of the next passes did so again.
func TestEventsAreListedOnceForEachPodAndThenKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := slowEvents{takes: func(string) (time.Duration, int) { return 0, 1 }, lists: &atomic.Int32{}}
		o := observerOf(&view.KubeAPI{APIReader: events})
		o.Explaining = NewExplaining()
		v := startingView("ns")
		for range 3 {
			o.observeMounts(t.Context(), v)
		}
		if got := events.lists.Load(); int(got) != len(v.Members) {
			t.Errorf("%d lists of events in three passes, want one for each of %d Pods", got, len(v.Members))
		}
		v.Now = v.Now.Add(explainAgain)
		events.takes = func(string) (time.Duration, int) { return time.Hour, 1 }
		o.APIReader = events
		for i := range v.Members {
			v.Members[i].Unanswered = ""
		}
		o.explain(t.Context(), v)
		if said := v.Members[2].Unanswered; !strings.Contains(said, "there is no disk") {
			t.Errorf("while the events cannot be read, the cause is %q, want that of an earlier pass", said)
		}
		v.Members[2].PodCreated, v.Members[2].Unanswered = v.Now.Add(-time.Minute), ""
		if o.explain(t.Context(), v); v.Members[2].Unanswered != "" {
			t.Errorf("the cause of a new Pod is %q", v.Members[2].Unanswered)
		}
	})
}
