package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// A Pod that the API server refuses would be noticed when a member must be created again, which is in the middle of a failure. So the
// operator creates a Pod of each healthy cluster in a dry run, once for each generation of the spec. The dry run runs beside the passes,
// because a webhook may take seconds to answer, and no repair may wait for that.

const (
	// foreseePerSecond limits these dry runs in all clusters, and foreseeBurst how many may begin at the same time. A thousand clusters that
	// an operator finds when it starts take 9 minutes.
	foreseePerSecond = 2
	foreseeBurst     = 4
	// foreseeAtOnce is how many may run at the same time. A webhook that hangs holds one for foreseeTimeout.
	foreseeAtOnce  = 8
	foreseeTimeout = 15 * time.Second
	// foreseeAgain is when a dry run is repeated that was refused, or that had no answer.
	foreseeAgain = 5 * time.Minute
)

// foresight limits the dry runs of Pods before they are needed.
type foresight struct {
	rate *rate.Limiter
	// running has an entry for each dry run.
	running chan struct{}
}

func newForesight() *foresight {
	return &foresight{rate: rate.NewLimiter(foreseePerSecond, foreseeBurst), running: make(chan struct{}, foreseeAtOnce)}
}

// begin reports whether a dry run may begin now. If so, it must end.
func (f *foresight) begin(now time.Time) bool {
	select {
	case f.running <- struct{}{}:
	default:
		return false
	}
	if !f.rate.AllowN(now, 1) {
		f.end()
		return false
	}
	return true
}

func (f *foresight) end() { <-f.running }

// podRehearsal is what a dry run of a Pod returned for a generation of the spec.
type podRehearsal struct {
	lock       sync.Mutex
	running    bool
	generation int64
	at         time.Time
	// accepted: nothing is to be asked again for this generation.
	accepted bool
	problem  string
}

// due reports whether a generation of the spec is to be tried.
func (p *podRehearsal) due(generation int64, now time.Time) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	fresh := !p.at.IsZero() && p.generation == generation
	return !p.running && (!fresh || !p.accepted && now.Sub(p.at) >= foreseeAgain)
}

func (p *podRehearsal) begin() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.running = true
}

// end records an answer, and reports whether it is another one than before. An error means that there was none, and what was known before
// counts until the next dry run.
func (p *podRehearsal) end(generation int64, now time.Time, problem string, err error) (changed bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	before := p.problem
	if p.generation != generation {
		before = ""
	}
	if err != nil {
		problem = before
	}
	p.running, p.generation, p.at, p.accepted, p.problem = false, generation, now, err == nil && problem == "", problem
	return problem != before
}

// problemOf is what is wrong with the Pods of a generation of the spec, as far as it is known.
func (p *podRehearsal) problemOf(generation int64) string {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.generation != generation {
		return ""
	}
	return p.problem
}

// rehearseAhead begins a dry run of the Pod of a member if one is due, and nothing is to be repaired or changed. It does not wait for the
// answer.
func (r *Reconciler) rehearseAhead(ctx context.Context, v *view, step plan.Step) {
	known, generation, now := &v.known.pod, v.cluster.Generation, v.Now
	if r.foresight == nil || plan.Acts(step) || v.remembered || v.Spec.Paused || !v.Whole() || !known.due(generation, now) {
		return
	}
	running := slices.IndexFunc(v.Members, func(m plan.Member) bool { return m.InMembership && m.Pod == plan.PodRunning })
	if running < 0 {
		return
	}
	create := plan.CreateMember{Name: v.Members[running].Name, Incarnation: v.Incarnation, Start: plan.StartRejoin}
	pod, err := r.rehearsalOf(v, create)
	if err != nil || !r.foresight.begin(now) {
		return // a later pass tries again
	}
	known.begin()
	ctx = context.WithoutCancel(ctx)
	go panics.Caught(func() {
		defer r.foresight.end()
		ctx, cancel := context.WithTimeout(ctx, foreseeTimeout)
		defer cancel()
		found, err := r.tryPod(ctx, v, create, pod)
		problem := ""
		if found != (unfit{}) {
			problem = found.why + " " + found.fix
		}
		if known.end(generation, now, problem, err) {
			r.wakeUp(v.cluster.ObjectMeta)
		}
	}, func(err error) { known.end(generation, now, "", err) })()
}
