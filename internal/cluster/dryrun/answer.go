package dryrun

import (
	"sync"
	"time"
)

// foreseeAgain is when a dry run is repeated that was refused, or that had no answer.
const foreseeAgain = 5 * time.Minute

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
