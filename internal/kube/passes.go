package kube

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passes are those that run. A pass may wait for seconds for a member that one namespace controls, so a namespace that has its share leaves
// the rest to others. What it asks for more is held until one of its passes ends.
type passes struct {
	share   int
	running map[string]int
	held    map[string][]waiting
}

// waiting is a request that is held, with the priority that it had.
type waiting struct {
	request  reconcile.Request
	priority int
}

// begin counts a pass, or holds its request.
func (q *fairQueue) begin(request reconcile.Request, priority int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := request.Namespace
	if q.passes.running[of] >= q.passes.share {
		if !slices.ContainsFunc(q.passes.held[of], func(w waiting) bool { return w.request == request }) {
			q.passes.held[of] = append(q.passes.held[of], waiting{request, priority})
		}
		return false
	}
	q.passes.running[of]++
	return true
}

// Done ends a pass, and queues the request of its namespace that was held first.
func (q *fairQueue) Done(request reconcile.Request) {
	q.PriorityQueue.Done(request)
	if next, is := q.end(request.Namespace); is {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &next.priority}, next.request)
	}
}

func (q *fairQueue) end(of string) (next waiting, is bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.passes.running[of]--; q.passes.running[of] <= 0 {
		delete(q.passes.running, of)
	}
	held := q.passes.held[of]
	if len(held) == 0 {
		return next, false
	}
	if q.passes.held[of] = held[1:]; len(held) == 1 {
		delete(q.passes.held, of)
	}
	return held[0], true
}
