package kube

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The members of one namespace hang in answers for which a pass waits for up to 30 s. 32 such clusters held all passes of the operator, again and
// again, so it served no other namespace.
func TestOneNamespaceLeavesAPassToOthers(t *testing.T) {
	const concurrent = 4
	queue, ok := Controller(concurrent).NewQueue("", nil).(*fairQueue)
	if !ok {
		t.Fatal("it is no fair queue")
	}
	t.Cleanup(queue.ShutDown)
	for n := range 20 {
		queue.Add(in("hangs", n))
	}
	taken := make(chan reconcile.Request)
	for range concurrent {
		go func() {
			for {
				request, shutdown := queue.Get()
				if shutdown {
					return
				}
				taken <- request
				if request.Namespace != "hangs" {
					queue.Done(request)
				}
			}
		}()
	}
	next := func() (reconcile.Request, bool) {
		select {
		case request := <-taken:
			return request, true
		case <-time.After(200 * time.Millisecond):
			return reconcile.Request{}, false
		}
	}
	var running []reconcile.Request
	for {
		request, is := next()
		if !is {
			break
		}
		running = append(running, request)
	}
	if len(running) != concurrent-1 {
		t.Fatalf("%d passes of one namespace run, want %d", len(running), concurrent-1)
	}
	for n := range 3 {
		queue.Add(in("another", n))
		if request, is := next(); !is || request.Namespace != "another" {
			t.Errorf("the other namespace has no pass: %v", request)
		}
	}
}

// What is held has its pass later, each once, in the order in which it came.
func TestARequestThatIsHeldIsNotLost(t *testing.T) {
	queue, ok := Controller(1).NewQueue("", nil).(*fairQueue)
	if !ok {
		t.Fatal("it is no fair queue")
	}
	t.Cleanup(queue.ShutDown)
	queue.Add(in("ns", 0))
	first, _ := queue.Get()
	for n := 1; n < 10; n++ {
		queue.Add(in("ns", n))
		queue.Add(in("ns", n))
	}
	queue.Add(in("other", 0))
	if request, _ := queue.Get(); request != in("other", 0) {
		t.Fatalf("%s comes before the other namespace", request)
	}
	queue.Done(in("other", 0))
	queue.Done(first)
	seen := map[reconcile.Request]int{}
	for range 9 {
		request, _ := queue.Get()
		seen[request]++
		queue.Done(request)
	}
	for n := 1; n < 10; n++ {
		if seen[in("ns", n)] != 1 {
			t.Errorf("%s had %d passes", in("ns", n), seen[in("ns", n)])
		}
	}
	if queue.Len() != 0 || len(queue.passes.held)+len(queue.passes.running) != 0 {
		t.Errorf("left: %d queued, %v", queue.Len(), queue.passes)
	}
}
