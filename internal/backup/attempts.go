package backup

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// attempts holds the attempts of this process: a pool of workers, and the progress of each attempt.
type attempts struct {
	pool *worker.Pool[Result]

	mu    sync.Mutex
	known map[worker.Key]*jobProgress
}

// jobProgress is one running attempt. The worker writes its progress, and passes read it.
type jobProgress struct {
	kind       Kind
	request    string
	base       string
	generation int64
	number     int32
	limit      *timeLimit
	// leave moves the attempt to the lane of verifications; may be nil.
	leave func()
	// based gives the archiver the snapshot that it has asked for; may be nil.
	based func(archive.Base)

	mu sync.Mutex
	// startedAt is when the attempt was queued, and later when a worker began it.
	startedAt time.Time
	progress  Progress
	// since is when the stage started.
	since time.Time
	// why returns why the attempt waits; nil while it does not.
	why func() turns.Reason
}

func newAttempts(lanes map[string]int) *attempts {
	return &attempts{pool: worker.NewLanes[Result](lanes), known: map[worker.Key]*jobProgress{}}
}

// start queues an attempt, unless one exists already.
func (a *attempts) start(key worker.Key, claim worker.Claim, t *jobProgress, run func(context.Context, *jobProgress) Result) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.leave = func() { a.pool.Move(key, laneVerify) }
	started := a.pool.StartIn(key, claim, func(ctx context.Context) (Result, error) { return run(ctx, t), nil })
	if started {
		a.known[key] = t
	}
	return started
}

// find returns the attempt of key, and nil if there is none.
func (a *attempts) find(key worker.Key) *Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.known[key]
	if t == nil {
		return nil
	}
	found := &Attempt{Kind: t.kind, Request: t.request, Base: t.base, Generation: t.generation, Number: t.number, StartedAt: t.began(), Queued: a.pool.Waiting(key), Progress: t.now()}
	if found.Queued {
		found.Progress.Why = a.pool.WhyWaiting(key)
	}
	result, done, err := a.pool.Result(key)
	switch {
	case done && err != nil:
		result.EndedAt, result.Failure = found.StartedAt, classify(err, jobSpec{}, false)
		fallthrough
	case done:
		found.Result = &result
	case !a.pool.Running(key): // it ended with the manager
		return nil
	}
	return found
}

// forget stops the attempt of key, or drops its result.
func (a *attempts) forget(key worker.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pool.Forget(key)
	delete(a.known, key)
}

// forgetOthers does the same for other objects of that name: all of them if except is empty.
func (a *attempts) forgetOthers(object types.NamespacedName, except types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pool.ForgetOthers(object, except)
	for key := range a.known {
		if key.Object == object && key.UID != except {
			delete(a.known, key)
		}
	}
}

func (t *jobProgress) now() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.progress
	if t.why != nil {
		p.Why = t.why()
	}
	return p
}

// begin records that a worker runs the attempt now, and returns how long it was queued.
func (t *jobProgress) begin(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	waited := now.Sub(t.startedAt)
	t.startedAt = now
	return waited
}

// leaveLane gives the attempt's slot to the next snapshot.
func (t *jobProgress) leaveLane() {
	if t.leave != nil {
		t.leave()
	}
}

// give gives the archiver its snapshot as soon as that is in the store. A restore test may take long, and etcd may be compacted meanwhile.
func (t *jobProgress) give(base archive.Base) {
	if t.based != nil {
		t.based(base)
	}
}

func (t *jobProgress) began() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.startedAt
}

func (t *jobProgress) stage(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress, t.since = Progress{Stage: stage}, time.Now()
}

// passing starts a stage that processes about that many bytes. The function that it returns takes the count so far.
func (t *jobProgress) passing(stage string, about int64) func(int64) {
	t.stage(stage)
	return func(n int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.progress = Progress{Stage: stage, Bytes: n, About: about}
		if took := time.Since(t.since); took >= time.Second {
			t.progress.PerSecond = int64(float64(n) / took.Seconds())
		}
	}
}
