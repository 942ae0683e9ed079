package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/panics"
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

// errRemembered is for a step that was planned on what a silent member answered to an earlier pass. The members are asked
// again before such a step is taken.
var errRemembered = fmt.Errorf("a member that hangs was not asked in this pass: %w", errBehind)

// target is how to reach a member. It is made before a question is asked, because the view changes meanwhile.
type target struct {
	// host is the address of its Pod.
	host string
	dial func() (Etcd, error)
	// ready: its Pod is ready, so it has the quorum that it needs to check a password.
	ready bool
}

// question is one question to a member. It takes up to askTimeout, or longer if the member has to check a password, but no
// pass waits for that long.
type question struct {
	address string
	// done is closed when answer and hung are set.
	done     chan struct{}
	answer   answer
	hung     bool
	asked    time.Time
	answered time.Time
	// used: a pass has planned on the answer.
	used bool
	// next is asked apart from the passes, if the member hung.
	next *question

	mu sync.Mutex
	// left: the pass that waited for the answer ended without it.
	left bool
}

// take makes the question one that a pass waits for.
func (q *question) take() *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = false
	return q
}

// leave is for a pass that ends without the answer. It returns false if the answer is there by now.
func (q *question) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = !q.isDone()
	return q.left
}

// finish makes the answer readable. It returns whether a pass ended without it.
func (q *question) finish() (left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.done)
	return q.left
}

func (q *question) isDone() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// start asks a member. A question apart wakes the cluster only if the member answers again. Any other one does so if a pass ended
// without the answer. An answer that was used must start no pass: on a busy machine each would be slow and start the next.
func (r *Reconciler) start(v *view, member string, apart bool) *question {
	q := &question{address: v.addresses[member], done: make(chan struct{}), asked: time.Now()}
	name := metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name}
	to := r.reach(v, member)
	end := func() {
		q.answered = time.Now()
		if left := q.finish(); (apart && !q.hung) || left {
			r.wakeUp(name)
		}
	}
	go panics.Caught(func() {
		q.answer, q.hung = r.askPatiently(context.Background(), name, to)
		end()
	}, func(err error) {
		q.answer.err = err
		end()
	})()
	return q
}

// reach returns how to reach a member at its Pod's address, under its DNS name: no DNS cache stands between it and the truth.
func (r *Reconciler) reach(v *view, member string) target {
	endpoint := etcd.Endpoint{
		URL:     v.ClientURL(member),
		Address: net.JoinHostPort(v.addresses[member], strconv.Itoa(int(v1beta2.ClientPort))),
		Login:   v.loginFor(member),
	}
	config, ready := v.tls, false
	for _, m := range v.Members {
		ready = ready || (m.Name == member && v.MayBeReady(m))
	}
	return target{host: v.addresses[member], ready: ready, dial: func() (Etcd, error) { return r.Dial(endpoint, config) }}
}

// wakeUp starts a pass for a cluster.
func (r *Reconciler) wakeUp(cluster metav1.ObjectMeta) {
	select {
	case r.wake <- event.GenericEvent{Object: &v1beta2.EtcdCluster{ObjectMeta: cluster}}:
	default: // nothing listens, or too many wait: the cluster is looked at when its next look is due
	}
}

// questionFor returns the question whose answer the pass uses. A member that hung is asked apart: the pass uses the last
// answer and does not wait.
func (r *Reconciler) questionFor(v *view, member string) *question {
	known := v.known
	q := known.questions[member]
	switch {
	case q == nil || q.address != v.addresses[member]:
	case !q.isDone() || (!q.used && time.Since(q.answered) < freshness):
		return q.take()
	case q.hung && !q.used && v.awaited:
		return q.take()
	case q.hung && q.used && r.wake != nil:
		return r.askApart(v, member, q)
	case !q.used: // this pass came too late for it, and the next one may, too
		v.patience = max(v.patience, q.patience())
	}
	if known.questions == nil {
		known.questions = map[string]*question{}
	}
	known.questions[member] = r.start(v, member, false)
	return known.questions[member]
}

// patience is how long a pass waits for a question that is asked again because its answer came too long before the pass. It is longer
// than a look at a member that hangs takes only if this member took longer the last time: a ready one that checks a password slowly.
func (q *question) patience() time.Duration {
	if q.answered.Sub(q.asked) > askTimeout+grace {
		return 2*askTimeout + passwordTimeout + grace // as long as askPatiently takes at most
	}
	return askTimeout + grace
}

// awaited reports whether a member that was asked has yet to answer, or just did. Members that hang take different times, and the
// answers of all of them are used together.
func (known *remembered) awaited() bool {
	for _, q := range known.questions {
		if !q.isDone() || time.Since(q.answered) < freshness {
			return true
		}
	}
	return false
}

// askApart returns the last answer of a member that hung, and asks it again from time to time, less often the longer it hangs.
func (r *Reconciler) askApart(v *view, member string, last *question) *question {
	if last.next != nil && last.next.isDone() {
		next := last.next
		v.known.questions[member] = next
		if !next.hung {
			v.known.questions[member] = r.start(v, member, false)
			return v.known.questions[member]
		}
		last, next.used = next, true
	}
	if last.next == nil && time.Since(last.answered) >= pauseAfter(v.known.waited(false, v.Now)) {
		last.next = r.start(v, member, true)
	}
	v.remembered = true
	return last
}

// pauseAfter is how long a member that hung is left alone. One that starts hangs for some seconds, and nobody must wait longer
// than it takes: etcd up to 3.7 serves a new member of a cluster of one only after 7 s, because the snapshot that the leader
// sends covers the entry by which the member makes itself known.
func pauseAfter(waited time.Duration) time.Duration { return min(waited/patience, slowest) }

// await waits for the answers. Without a listener for those that come later, it waits for all. A pass with patience waits that long for all.
func (r *Reconciler) await(ctx context.Context, asked []*question, patience time.Duration) bool {
	arrived, stop := make(chan bool, len(asked)), make(chan struct{})
	defer close(stop)
	for _, q := range asked {
		go func() {
			select {
			case <-q.done:
				arrived <- q.answer.err == nil && q.answer.serving == nil
			case <-stop:
			}
		}()
	}
	limit := time.NewTimer(longestWait)
	defer limit.Stop()
	switch {
	case r.wake == nil:
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
			if serves && serving == quorum && r.wake != nil && patience == 0 {
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
func (r *Reconciler) leave(v *view, asked []*question) {
	open := false
	for _, q := range asked {
		open = q.leave() || open
	}
	if !open { // they came while the pass gave up
		r.wakeUp(metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name})
	}
}

// keepAsked keeps only the questions of members that exist. An answer is used once, but that of a member that hung is kept.
func (known *remembered) keepAsked(asked map[int]*question) {
	kept := slices.Collect(maps.Values(asked))
	maps.DeleteFunc(known.questions, func(_ string, q *question) bool { return !q.hung || !slices.Contains(kept, q) })
}

// handOver ends a pass whose members have yet to answer. The last answer starts the next pass.
func handOver() ctrl.Result { return ctrl.Result{RequeueAfter: askTimeout, Priority: &urgent} }

// createMissing creates the Pod of a member while other members have yet to answer, if that is the next step whatever they answer.
// If one member hangs and the Pod of another is deleted, the third has no quorum and answers late. Without the answers, only a
// recorded voter is created: another one may have been removed from the membership, and the plan would delete its Pod again.
func (r *Reconciler) createMissing(ctx context.Context, v *view) error {
	if !slices.ContainsFunc(v.Members, func(m plan.Member) bool { return m.Pod == plan.PodNone }) {
		return nil
	}
	v.remembered, v.Held = true, v.known.repeats.Held(v.cluster.Generation, v.Now)
	step, _ := plan.Choose(v.State)
	if create, is := step.(plan.CreateMember); !is || create.Waits || v.Irreversible(create) || !slices.Contains(v.KnownVoters, create.Name) {
		return nil
	}
	err := r.act(ctx, v, step)
	if err == nil {
		v.known.repeats.Did(v.State, step, v.cluster.Generation, v.Now)
		kube.PublishEvents(r.Events, v.cluster, plan.Events(v.State, step, nil, false))
	}
	return err
}

// askAgain ends a pass that would have taken a step on remembered answers. The next pass asks all members.
func (known *remembered) askAgain() ctrl.Result {
	for member, q := range known.questions {
		if q.isDone() {
			delete(known.questions, member)
		}
	}
	return ctrl.Result{RequeueAfter: time.Millisecond, Priority: &urgent}
}

// confirmAsked fails if a step must not be taken on what a silent member answered to an earlier pass. Steps that create or
// correct objects may: a person who deletes a Pod does not wait for a member that hangs.
func (v *view) confirmAsked(step plan.Step) error {
	if !v.remembered || !plan.Acts(step) {
		return nil
	}
	switch step := step.(type) {
	case plan.CreateVolumes, plan.CreateMembers, plan.ApplyBudget, plan.WithdrawBudget, plan.ApplyNetworkPolicy, plan.WithdrawNetworkPolicy, plan.AddToService, plan.RelabelPod, plan.LoadCertificates,
		plan.KeepVolume, plan.ResizeVolume, plan.CreateCA, plan.RequestCertificates, plan.WriteCertificates, plan.VolumeMayFill, plan.Advice:
		return nil
	case plan.CreateMember, plan.ApplyServices, plan.ForceDeletePod:
		if !v.Irreversible(step) {
			return nil
		}
	}
	return errRemembered
}
