package kube

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The priorities of cluster-operator, and that of a look.
var urgent, starting, unbegun, looks = 0, -25, -50, look

func in(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("c", n)}}
}

func newFair(t *testing.T) *fairQueue {
	t.Helper()
	queue, ok := Controller(32).NewQueue("", nil).(*fairQueue)
	if !ok {
		t.Fatal("it is no fair queue")
	}
	t.Cleanup(queue.ShutDown)
	return queue
}

// turnOf returns how many requests come before the given one.
func turnOf(t *testing.T, queue *fairQueue, want reconcile.Request) int {
	t.Helper()
	for n := range 1000 {
		got, _, _ := queue.GetWithPriority()
		queue.Done(got)
		if got == want {
			return n
		}
	}
	t.Fatalf("%s never comes", want)
	return 0
}

func TestANamespaceWithMuchWorkDoesNotDelayTheClusterOfAnother(t *testing.T) {
	for name, priority := range map[string]*int{"work": &urgent, "members start": &starting, "new clusters": &unbegun, "probes after a restart": &looks, "events": nil} {
		t.Run(name, func(t *testing.T) {
			queue := newFair(t)
			for n := range 500 {
				queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, in("large", n))
			}
			one := in("small", 0)
			queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, one)
			if before := turnOf(t, queue, one); before > 2 {
				t.Errorf("%d clusters of the other namespace come before it", before)
			}
		})
	}
}

// Most work is queued by a pass that asks for the next one after 100 ms.
func TestWorkThatIsQueuedAgainCountsForItsNamespace(t *testing.T) {
	queue := newFair(t)
	for n := range 500 {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &urgent, After: time.Millisecond}, in("large", n))
	}
	<-time.After(50 * time.Millisecond)
	one := in("small", 0)
	queue.Add(one)
	if before := turnOf(t, queue, one); before > 2 {
		t.Errorf("%d clusters of the other namespace come before it", before)
	}
}

func TestTurnsOfNamespacesDoNotChangeTheOrderOfPriorities(t *testing.T) {
	queue := newFair(t)
	for n := range 100 {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &urgent}, in("large", n))
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &starting}, in("large", 100+n))
	}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &looks}, in("small", 0))
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &unbegun}, in("small", 1))
	order := []int{urgent, starting, unbegun, looks}
	last := 0
	for range 202 {
		got, priority, _ := queue.GetWithPriority()
		for order[last] != priority && last < len(order)-1 {
			last++
		}
		if order[last] != priority {
			t.Fatalf("%s with priority %d comes after lower ones", got, priority)
		}
		queue.Done(got)
	}
}

func TestWorkThatIsDoneNoLongerDelaysItsNamespace(t *testing.T) {
	queue := newFair(t)
	for range 3 {
		for n := range 50 {
			queue.Add(in("large", n))
			queue.Add(in("large", n)) // queued once
		}
		for range 50 {
			got, _ := queue.Get()
			queue.Done(got)
		}
	}
	if len(queue.queued) != 0 || len(queue.lanes) != 0 {
		t.Errorf("the empty queue remembers %v and %v", queue.queued, queue.lanes)
	}
	for n := range 100 {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &looks, After: time.Hour}, in("large", n))
	}
	queue.Add(in("small", 0))
	queue.Add(in("small", 1))
	work := in("large", 200)
	queue.Add(work)
	if before := turnOf(t, queue, work); before > 1 {
		t.Errorf("looks of its namespace delay work: %d come before it", before)
	}
}

// Clusters of other namespaces were being created, one in each. They always had work, so the clusters of the large namespace never
// had a turn.
func TestNamespacesWithLittleWorkDoNotStopOneWithMuch(t *testing.T) {
	for name, options := range map[string]priorityqueue.AddOpts{
		"work": {Priority: &urgent}, "looks": {Priority: &looks}, "delayed work": {Priority: &urgent, After: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newFair(t)
			add := func(request reconcile.Request) {
				queue.AddWithOpts(priorityqueue.AddOpts{Priority: options.Priority}, request)
			}
			for n := range 500 {
				queue.AddWithOpts(options, in("large", n))
			}
			<-time.After(50 * options.After)
			const others = 5
			for n := range others {
				add(in(fmt.Sprint("small", n), 0))
			}
			const turns = 300
			large := 0
			for range turns {
				got, _ := queue.Get()
				queue.Done(got)
				if got.Namespace == "large" {
					large++
				} else {
					add(got) // it has work again
				}
			}
			if fair := turns / (others + 1); large < fair/2 || large > 2*fair {
				t.Errorf("the large namespace had %d of %d turns, expected about %d", large, turns, fair)
			}
		})
	}
}
