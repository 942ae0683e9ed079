package cluster

import (
	"math/bits"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fairQueue gives namespaces turns: the more work a namespace has in the queue, the later comes what it adds. Hundreds of clusters of
// one namespace that all have work do not delay the one cluster of another. What has a higher priority still comes first.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu sync.Mutex
	// queued requests, and whether each only is a look.
	queued map[reconcile.Request]bool
	// waiting is the number of queued requests of a namespace.
	waiting map[lane]int
}

// lane is a namespace's work or its looks. Looks are queued all the time, so they do not count as work.
type lane struct {
	namespace string
	look      bool
}

// ranks is the number of ranks in each priority. A rank is the logarithm of how much a namespace has queued. So there are few, and each
// is a label of a metric.
const ranks = 16

func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return fair(priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }))
}

func fair(queue priorityqueue.PriorityQueue[reconcile.Request]) *fairQueue {
	return &fairQueue{PriorityQueue: queue, queued: map[reconcile.Request]bool{}, waiting: map[lane]int{}}
}

// AddWithOpts queues requests. Priorities are 0 or lower.
func (q *fairQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	priority := urgent
	if options.Priority != nil {
		priority = *options.Priority
	}
	for _, request := range requests {
		ranked := priority*ranks - q.enter(request, priority <= look)
		options.Priority = &ranked
		q.PriorityQueue.AddWithOpts(options, request)
	}
}

// enter counts a request. It returns its rank.
func (q *fairQueue) enter(request reconcile.Request, isLook bool) (rank int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if was, is := q.queued[request]; is {
		isLook = isLook && was
		q.leave(request)
	}
	to := lane{request.Namespace, isLook}
	rank = min(bits.Len(uint(q.waiting[to])), ranks-1)
	q.queued[request] = isLook
	q.waiting[to]++
	return rank
}

// leave forgets a request.
func (q *fairQueue) leave(request reconcile.Request) {
	from := lane{request.Namespace, q.queued[request]}
	delete(q.queued, request)
	if q.waiting[from]--; q.waiting[from] == 0 {
		delete(q.waiting, from)
	}
}

// GetWithPriority returns the next request with the priority that it was added with.
func (q *fairQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, ranked, shutdown := q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, is := q.queued[request]; is && !shutdown {
		q.leave(request)
	}
	return request, ranked / ranks, shutdown
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
