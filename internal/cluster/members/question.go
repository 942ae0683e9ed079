package members

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
)

const (
	// grace is how long a pass waits for the other members when a quorum has answered.
	grace = 200 * time.Millisecond
	// longestWait is how long a pass waits for members at all. After that it gives its worker to others, and the last
	// answer starts the next pass.
	longestWait = 500 * time.Millisecond
	// freshness is how long an answer that no pass has used is good.
	freshness = 5 * time.Second
)

// Question is one question to a member. It takes up to AskTimeout, or longer if the member has to check a password, but no
// pass waits for that long.
type Question struct {
	address string
	// Done is closed when answer and hung are set.
	Done     chan struct{}
	answer   Answer
	Hung     bool
	asked    time.Time
	answered time.Time
	// used: a pass has planned on the answer.
	used bool
	// next is asked apart from the passes, if the member hung.
	next *Question

	mu sync.Mutex
	// left: the pass that waited for the answer ended without it.
	left bool
}

// openQuestions are the questions to the members of one EtcdCluster by name that are open, and the last ones of members that hang.
type openQuestions struct{ Questions map[string]*Question }

// take makes the question one that a pass waits for.
func (q *Question) take() *Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = false
	return q
}

// leave is for a pass that ends without the answer. It returns false if the answer is there by now.
func (q *Question) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = !q.IsDone()
	return q.left
}

// finish makes the answer readable. It returns whether a pass ended without it.
func (q *Question) finish() (left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.Done)
	return q.left
}

func (q *Question) IsDone() bool {
	select {
	case <-q.Done:
		return true
	default:
		return false
	}
}

// patience is how long a pass waits for a question that is asked again because its answer came too long before the pass. It is longer
// than a look at a member that hangs takes only if this member took longer the last time: a ready one that checks a password slowly.
func (q *Question) patience() time.Duration {
	if q.answered.Sub(q.asked) > AskTimeout+grace {
		return 2*AskTimeout + passwordTimeout + grace // as long as askPatiently takes at most
	}
	return AskTimeout + grace
}

// awaited reports whether a member that was asked has yet to answer, or just did. Members that hang take different times, and the
// answers of all of them are used together.
func (known *openQuestions) awaited() bool {
	for _, q := range known.Questions {
		if !q.IsDone() || time.Since(q.answered) < freshness {
			return true
		}
	}
	return false
}

// keepAsked keeps only the questions of members that exist. An answer is used once, but that of a member that hung is kept.
func (known *openQuestions) keepAsked(asked map[int]*Question) {
	kept := slices.Collect(maps.Values(asked))
	maps.DeleteFunc(known.Questions, func(_ string, q *Question) bool { return !q.Hung || !slices.Contains(kept, q) })
}

// AskAgain ends a pass that would have taken a step on remembered answers. The next pass asks all members.
func (known *openQuestions) AskAgain() ctrl.Result {
	for member, q := range known.Questions {
		if q.IsDone() {
			delete(known.Questions, member)
		}
	}
	return ctrl.Result{RequeueAfter: time.Millisecond, Priority: &queue.Urgent}
}

// UnansweredMembers names the members that hang or have yet to answer.
func (known *openQuestions) UnansweredMembers() string {
	var names []string
	for member, q := range known.Questions {
		if !q.IsDone() || q.Hung {
			names = append(names, member)
		}
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "all of them")
}
