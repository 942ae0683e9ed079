package turns

import (
	"context"
	"fmt"
	"time"
)

const (
	// urgentWait is for how long work in a Gate continues while an urgent caller waits. It is doubled after each attempt that was ended, up to
	// urgentWaitMost, so that a namespace which is urgent again and again does not end honest work without end.
	urgentWait, urgentWaitMost = time.Minute, 3 * time.Minute
	// urgentEnds is how often the urgent callers of one namespace end the work of another one in a row in that time. After that, they wait up to
	// urgentWaitAgain, so that work which takes longer has a result, too. What they have waited for other namespaces before counts, so that the sum
	// leaves them time of their 14 minutes. It counts for as many ends again, because a tenant decides how long his own wait.
	urgentEnds      = 3
	urgentWaitAgain = 7 * time.Minute
	// urgentMost is the same for work that is urgent itself, and urgentAgain after it was ended. It has the time for its bytes until then. With the one
	// before it, such work ends within the 14 minutes of a safety snapshot.
	urgentMost, urgentAgain = 4 * time.Minute, 6 * time.Minute
)

// Urgent returns the context of work that must end within minutes, or data is lost. It comes first in each Gate, and does not wait for its slot again.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgentKey{}, &waitTime{})
}

// Waited records how long urgent work has waited for other namespaces in a queue. It waits less in each Gate after that.
func Waited(ctx context.Context, d time.Duration) {
	if w := waitsOf(ctx); w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sum += d
	}
}

// leftForUrgent returns how much is left of the time after which work ends if an urgent caller waits.
func (a *Allowance) leftForUrgent() time.Duration {
	most := min(a.factor*urgentWait, urgentWaitMost)
	switch {
	case a.urgent && a.factor > 1:
		most = min(a.most(), urgentAgain)
	case a.urgent:
		most = min(a.once(), urgentMost)
	}
	return most - time.Since(a.began)
}

// why returns why work has to end now, and nil if it continues.
func (g *Gate) why(namespace string, a *Allowance) error {
	switch {
	case a.left() <= 0 && g.Crowds(namespace):
		return fmt.Errorf("%w, and this took longer than %s for %d MiB", ErrOthersWaited, a.most(), a.size()>>20)
	case a.leftForUrgent() <= 0 && g.urgentWaits(namespace, a):
		return fmt.Errorf("%w, and this took longer than it may while a safety snapshot waits", ErrOthersWaited)
	}
	return nil
}

// urgentWaits returns whether an urgent caller waits for the slot of a namespace, needs it at once, and may end its work now. Urgent work does not end for
// its own namespace. Other work that has ended for the same one again and again gets more time.
func (g *Gate) urgentWaits(namespace string, a *Allowance) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside < g.slots {
		return false
	}
	for _, c := range g.waiting {
		if !c.urgent || a.urgent && c.namespace == namespace || a.hasMoreFrom(c) {
			continue
		}
		a.endFor(c.namespace)
		return true
	}
	return false
}

// hasMoreFrom returns whether work has more time because it was ended for the namespace of an urgent caller again and again.
func (a *Allowance) hasMoreFrom(c *caller) bool {
	ends, waited := a.before.by[c.namespace], time.Since(c.since)
	if ends < 2*urgentEnds {
		waited += c.before
	}
	return !a.urgent && ends >= urgentEnds && max(time.Since(a.began), waited) < urgentWaitAgain
}
