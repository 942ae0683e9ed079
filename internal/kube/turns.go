package kube

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Controller returns the options of a controller that reconciles that many objects at the same time. Its namespaces take turns.
func Controller(concurrent int) controller.Options {
	queue := func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		return fair(inner, turns.Share(concurrent))
	}
	return controller.Options{MaxConcurrentReconciles: concurrent, RateLimiter: Retries(), NewQueue: queue}
}

// look is the priority of requests that are no work: the operator only reads the object again.
const look = handler.LowPriority

// fairQueue gives namespaces turns: the more work a namespace has in the queue, the later comes what it adds. Hundreds of clusters of
// one namespace that all have work do not delay the one cluster of another. What has a higher priority still comes first.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu sync.Mutex
	// queued requests, and those of each lane.
	queued map[reconcile.Request]*turn
	lanes  map[lane]map[reconcile.Request]*turn
	added  uint64
	passes passes
}

// turn is when it is the turn of a queued request.
type turn struct {
	lane           lane
	priority, rank int
	// added orders requests, and ready is when the request may be handed out.
	added uint64
	ready time.Time
}

// lane is a namespace's work or its looks. Looks are queued all the time, so they do not count as work.
type lane struct {
	namespace string
	look      bool
}

// ranks is the number of ranks in each priority. A rank is the logarithm of how much a namespace has queued. So there are few, and each
// is a label of a metric.
const ranks = 16

// rateLimited is how long a request that failed counts as one that may not be handed out yet.
const rateLimited = time.Minute

// fair returns a queue in which one namespace has at most that many passes at the same time.
func fair(queue priorityqueue.PriorityQueue[reconcile.Request], share int) *fairQueue {
	return &fairQueue{
		PriorityQueue: queue, queued: map[reconcile.Request]*turn{}, lanes: map[lane]map[reconcile.Request]*turn{},
		passes: passes{share: share, running: map[string]int{}, held: map[string][]waiting{}},
	}
}

// AddWithOpts queues requests. Priorities are 0 or lower.
func (q *fairQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	entered := turn{ready: time.Now().Add(options.After)}
	if options.Priority != nil {
		entered.priority = *options.Priority
	}
	if options.RateLimited {
		entered.ready = entered.ready.Add(rateLimited)
	}
	for _, request := range requests {
		ranked := q.enter(request, entered)
		options.Priority = &ranked
		q.PriorityQueue.AddWithOpts(options, request)
	}
}

// enter counts a request. It returns its priority with its rank.
func (q *fairQueue) enter(request reconcile.Request, entered turn) (ranked int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	is := &entered
	is.lane = lane{request.Namespace, is.priority <= look}
	was := q.queued[request]
	if was != nil {
		is.lane.look = is.lane.look && was.lane.look
		q.leave(request)
	}
	if q.lanes[is.lane] == nil {
		q.lanes[is.lane] = map[reconcile.Request]*turn{}
	}
	q.added++
	is.added, is.rank = q.added, min(bits.Len(uint(len(q.lanes[is.lane]))), ranks-1)
	ranked = is.ranked()
	if was != nil && was.ready.Before(is.ready) {
		is.ready = was.ready
	}
	if was != nil && was.ranked() >= ranked { // the queue keeps the higher one
		is.priority, is.rank, is.added = was.priority, was.rank, was.added
	}
	q.queued[request], q.lanes[is.lane][request] = is, is
	return ranked
}

func (t *turn) ranked() int { return t.priority*ranks - t.rank }

// leave forgets a request.
func (q *fairQueue) leave(request reconcile.Request) {
	from := q.queued[request].lane
	delete(q.queued, request)
	delete(q.lanes[from], request)
	if len(q.lanes[from]) == 0 {
		delete(q.lanes, from)
	}
}

// GetWithPriority returns the next request with the priority that it was added with.
func (q *fairQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	for {
		request, ranked, shutdown := q.PriorityQueue.GetWithPriority()
		priority = ranked / ranks
		if shutdown {
			return request, priority, shutdown
		}
		q.left(request, priority)
		if q.begin(request, priority) {
			return request, priority, shutdown
		}
		q.PriorityQueue.Done(request) // it is held, and added again
	}
}

// left forgets a request that was handed out, and gives the first rank to the request of the namespace whose turn comes next. Otherwise
// namespaces that always have a little work would keep one with much from having a turn at all.
func (q *fairQueue) left(request reconcile.Request, priority int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := lane{request.Namespace, priority <= look}
	if taken := q.queued[request]; taken != nil {
		from = taken.lane
		q.leave(request)
	}
	now := time.Now()
	next, first := q.first(from, now)
	if first == nil || first.rank == 0 {
		return
	}
	first.rank = 0
	ranked := first.ranked()
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &ranked, After: max(first.ready.Sub(now), 0)}, next)
}

// first is the request of a lane whose turn comes next: of those that may be handed out now, or else the one that soon may.
func (q *fairQueue) first(of lane, now time.Time) (next reconcile.Request, first *turn) {
	for request, t := range q.lanes[of] {
		if first == nil || t.before(first, now) {
			next, first = request, t
		}
	}
	return next, first
}

func (t *turn) before(other *turn, now time.Time) bool {
	waits, otherWaits := t.ready.After(now), other.ready.After(now)
	switch {
	case waits != otherWaits:
		return otherWaits
	case waits:
		return t.ready.Before(other.ready)
	case t.ranked() != other.ranked():
		return t.ranked() > other.ranked()
	}
	return t.added < other.added
}

// Get is GetWithPriority for a caller that does not need the priority.
func (q *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// Add queues a request as work.
func (q *fairQueue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

// AddRateLimited queues a request as work that failed.
func (q *fairQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
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
