package members

import (
	"context"
	"crypto/x509"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Questions ask the members.
type Questions struct {
	*Connections
	// Shown sees the certificate that a server shows.
	Shown func(ctx context.Context, address string) (*x509.Certificate, error)
	// Applied reads from a member's metrics its ID and the index of the last entry that it has applied; nil does not.
	Applied func(ctx context.Context, address string) (etcd.ID, uint64, error)
	// Wake starts passes for clusters whose members answered late. If it is nil, passes wait for all answers.
	Wake    chan event.GenericEvent
	Metrics *metrics.Metrics
	silence Silence
	Paces   *view.Memory[queue.Pace]
	Memory  view.Memory[openQuestions]
}

// Forget drops what is kept of an EtcdCluster that does not exist any more.
func (r *Questions) Forget(cluster types.NamespacedName) {
	r.silence.forget(cluster)
	r.Memory.Forget(cluster)
}

// Hangs reports whether a member did not answer in time when it was last asked.
func (r *Questions) Hangs(v *view.View, member string) bool {
	q := r.Memory.OfView(v).Questions[member]
	return q != nil && q.Hung
}

// start asks a member. A question apart wakes the cluster only if the member answers again. Any other one does so if a pass ended
// without the answer. An answer that was used must start no pass: on a busy machine each would be slow and start the next.
func (r *Questions) start(v *view.View, member string, apart bool) *Question {
	q := &Question{address: v.Addresses[member], Done: make(chan struct{}), asked: time.Now()}
	name := metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name}
	to := r.reach(v, member)
	end := func() {
		q.answered = time.Now()
		if left := q.finish(); (apart && !q.Hung) || left {
			r.WakeUp(name)
		}
	}
	go panics.Caught(func() {
		q.answer, q.Hung = r.askPatiently(context.Background(), name, to)
		end()
	}, func(err error) {
		q.answer.Err = err
		end()
	})()
	return q
}

// questionFor returns the question whose answer the pass uses. A member that hung is asked apart: the pass uses the last
// answer and does not wait.
func (r *Questions) questionFor(v *view.View, member string) *Question {
	known := r.Memory.OfView(v)
	q := known.Questions[member]
	switch {
	case q == nil || q.address != v.Addresses[member]:
	case !q.IsDone() || (!q.used && time.Since(q.answered) < freshness):
		return q.take()
	case q.Hung && !q.used && v.Awaited:
		return q.take()
	case q.Hung && q.used && r.Wake != nil:
		return r.askApart(v, member, q)
	case !q.used: // this pass came too late for it, and the next one may, too
		v.Patience = max(v.Patience, q.patience())
	}
	if known.Questions == nil {
		known.Questions = map[string]*Question{}
	}
	known.Questions[member] = r.start(v, member, false)
	return known.Questions[member]
}

// askApart returns the last answer of a member that hung, and asks it again from time to time, less often the longer it hangs.
func (r *Questions) askApart(v *view.View, member string, last *Question) *Question {
	known := r.Memory.OfView(v)
	if last.next != nil && last.next.IsDone() {
		next := last.next
		known.Questions[member] = next
		if !next.Hung {
			known.Questions[member] = r.start(v, member, false)
			return known.Questions[member]
		}
		last, next.used = next, true
	}
	if last.next == nil && time.Since(last.answered) >= pauseAfter(r.Paces.OfView(v).Waited(false, v.Now)) {
		last.next = r.start(v, member, true)
	}
	v.Remembered = true
	return last
}

// pauseAfter is how long a member that hung is left alone. One that starts hangs for some seconds, and nobody must wait longer
// than it takes: etcd up to 3.7 serves a new member of a cluster of one only after 7 s, because the snapshot that the leader
// sends covers the entry by which the member makes itself known.
func pauseAfter(waited time.Duration) time.Duration { return min(waited/queue.Patience, queue.Slowest) }

// await waits for the answers. Without a listener for those that come later, it waits for all. A pass with patience waits that long for all.
func (r *Questions) await(ctx context.Context, asked []*Question, patience time.Duration) bool {
	arrived, stop := make(chan bool, len(asked)), make(chan struct{})
	defer close(stop)
	for _, q := range asked {
		go func() {
			select {
			case <-q.Done:
				arrived <- q.answer.Err == nil && q.answer.serving == nil
			case <-stop:
			}
		}()
	}
	limit := time.NewTimer(longestWait)
	defer limit.Stop()
	switch {
	case r.Wake == nil:
		limit.Stop()
	case patience > 0:
		limit.Reset(patience)
	}
	serving, quorum := 0, etcd.Quorum(len(asked))
	for range asked {
		select {
		case serves := <-arrived:
			if serves {
				serving++
			}
			if serves && serving == quorum && r.Wake != nil && patience == 0 {
				limit.Reset(grace)
			}
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// leave ends a pass without some of the answers. The last of them starts the next pass.
func (r *Questions) leave(v *view.View, asked []*Question) {
	open := false
	for _, q := range asked {
		open = q.leave() || open
	}
	if !open { // they came while the pass gave up
		r.WakeUp(metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name})
	}
}

// WakeUp starts a pass for a cluster.
func (r *Questions) WakeUp(cluster metav1.ObjectMeta) {
	select {
	case r.Wake <- event.GenericEvent{Object: &v1beta2.EtcdCluster{ObjectMeta: cluster}}:
	default: // nothing listens, or too many wait: the cluster is looked at when its next look is due
	}
}
