package queue

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// After the loss of a node, every cluster with a member on it waits for that member. If each were looked at twice a second
// for hours, the operator would have no time for the clusters that it can help.
func TestAClusterThatWaitsIsLookedAtLessOften(t *testing.T) {
	for _, c := range []struct {
		name     string
		interval time.Duration
		acted    bool
		formed   bool
		waited   time.Duration
		want     time.Duration
		priority int
	}{
		{"it has just begun to wait", 500 * time.Millisecond, false, true, 0, 500 * time.Millisecond, look},
		{"it has waited for 20 seconds", 500 * time.Millisecond, false, true, 20 * time.Second, 2 * time.Second, look},
		{"it has waited for an hour", 500 * time.Millisecond, false, true, time.Hour, Slowest, look},
		{"it is as its spec asks", 10 * time.Second, false, true, time.Hour, 10 * time.Second, look},
		{"it waits for a person", 30 * time.Second, false, true, time.Hour, 30 * time.Second, look},
		{"the operator has just done something", 100 * time.Millisecond, true, true, 0, 100 * time.Millisecond, Urgent},
		{"its members start for the first time", 500 * time.Millisecond, false, false, 5 * time.Second, 500 * time.Millisecond, starting},
		{"its members have not started for long", 500 * time.Millisecond, false, false, time.Minute, 6 * time.Second, look},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Again(c.interval, c.acted, c.formed, c.waited)
			most := c.want
			if !c.acted {
				most = time.Duration(float64(c.want) * (1 + Jitter))
			}
			if got.RequeueAfter < c.want || got.RequeueAfter > most || *got.Priority != c.priority {
				t.Errorf("looks again after %s with priority %d, want %s to %s with %d", got.RequeueAfter, *got.Priority, c.want, most, c.priority)
			}
		})
	}
}

// A cluster that begins to move again is looked at often again.
func TestTheWaitBeginsAnewWithEveryChange(t *testing.T) {
	var known Pace
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	known.Waited(true, start)
	if waited := known.Waited(false, start.Add(time.Minute)); waited != time.Minute {
		t.Errorf("waited %s", waited)
	}
	if waited := known.Waited(true, start.Add(2*time.Minute)); waited != 0 {
		t.Errorf("after a change: waited %s", waited)
	}
}

// A member that waited for its volume for a minute would be added 6 s after it has its address.
func TestTheWaitBeginsAnewWhenItsEndIsNear(t *testing.T) {
	var known Pace
	for i, c := range []struct {
		requeue time.Duration
		nearer  bool
	}{{500 * time.Millisecond, false}, {500 * time.Millisecond, false}, {100 * time.Millisecond, true}, {100 * time.Millisecond, false}, {500 * time.Millisecond, false}} {
		if nearer := known.Nearer(c.requeue); nearer != c.nearer {
			t.Errorf("look %d after %s: nearer is %t, want %t", i, c.requeue, nearer, c.nearer)
		}
	}
}

// A Pod that a finalizer keeps would be deleted fifty times in a second. A step that a slow cache hides would soon be held for ten minutes.
func TestAStepThatIsCarriedOutAgainWaitsLongerEachTime(t *testing.T) {
	var known Pace
	const soon = 20 * time.Millisecond
	remove := steps.ForceDeletePod{Name: "example-1"}
	for i, c := range []struct {
		step steps.Step
		want time.Duration
	}{
		{remove, soon},
		{remove, FirstRepeat},
		{remove, 2 * FirstRepeat},
		{steps.ForceDeletePod{Name: "example-2"}, soon},
		{remove, soon},
		{remove, FirstRepeat},
		{steps.Wait{}, soon},
		{remove, soon},
	} {
		if pause := known.Repeated(c.step, soon); pause != c.want {
			t.Errorf("step %d: the next pass comes after %s, want %s", i, pause, c.want)
		}
	}
	for range 20 {
		known.Repeated(remove, soon)
	}
	if pause := known.Repeated(remove, soon); pause != FirstRepeat<<repeatsDouble || pause >= Slowest {
		t.Errorf("the longest pause is %s", pause)
	}
}

// A thousand that were created at once were all Ready late, because each got its first step before any got its second.
func TestAClusterThatWasBegunComesBeforeThoseThatWereNot(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
	}
	handler := EnqueueUnbegun()
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &look}, named("healthy"))
	for n := range 3 {
		created := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("new-", n), Generation: 1}}
		if BegunBefore().Create(event.CreateEvent{Object: created}) {
			t.Error("a new EtcdCluster is queued as urgent too")
		}
		handler.Create(t.Context(), event.CreateEvent{Object: created}, queue)
	}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &starting}, named("starts"))
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &Urgent}, named("changed"))
	for _, want := range []string{"changed", "starts", "new-0", "new-1", "new-2", "healthy"} {
		if got, _ := queue.Get(); got.Name != want {
			t.Errorf("%s comes before %s", got.Name, want)
		}
	}
}

func TestAClusterThatWasBegunIsQueuedOnceWhenTheOperatorStarts(t *testing.T) {
	begun := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "begun", Generation: 2}}
	begun.Status.ObservedGeneration, begun.Status.ClusterID = 1, "1"
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	EnqueueUnbegun().Create(t.Context(), event.CreateEvent{Object: begun}, queue)
	if !BegunBefore().Create(event.CreateEvent{Object: begun}) || queue.Len() != 0 {
		t.Errorf("an EtcdCluster that was begun has the priority of a new one")
	}
}

// Looks at all clusters together have a limit, so that a thousand idle clusters cost what six hundred do.
func TestManyClustersAreLookedAtLessOften(t *testing.T) {
	for clusters, want := range map[int]time.Duration{1: Slowest, 600: Slowest, 900: 15 * time.Second, 1000: 17 * time.Second} {
		got := max(Slowest, Spread(clusters, LooksPerSecond)).Round(time.Second)
		if got != want || time.Duration(float64(got)*(1+Jitter)) > 21*time.Second {
			t.Errorf("each of %d clusters is looked at every %s, want %s", clusters, got, want)
		}
	}
}
