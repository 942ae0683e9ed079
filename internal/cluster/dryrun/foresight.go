package dryrun

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// foreseePerSecond limits these dry runs in all clusters, and foreseeBurst how many may begin at the same time. A thousand clusters that
	// an operator finds when it starts take 9 minutes.
	foreseePerSecond = 2
	foreseeBurst     = 4
	// foreseeAtOnce is how many may run at the same time. A webhook that hangs holds one for foreseeTimeout.
	foreseeAtOnce = 8
)

// foresight limits the dry runs of Pods before they are needed.
type foresight struct {
	rate *rate.Limiter
	// running has an entry for each dry run.
	running chan struct{}
}

// NewForesight returns the limits of an operator.
func NewForesight() *foresight {
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
