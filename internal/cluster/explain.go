package cluster

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// explainTimeout is how long one pass takes at most for all reads that only explain. The rest of passTimeout is for the plan and its step.
	explainTimeout = 2 * time.Second
	// explainAgain is how long the events about a Pod are used before they are read again.
	explainAgain = 10 * time.Second
	// explainAtOnce is how many passes read events at the same time. One namespace has one fewer.
	explainAtOnce = 2
)

// explanations are the reads whose result stands only in the status: the plan takes the same steps without it. Each one ends with its context. It
// returns no error, because a pass plans without the explanation.
var explanations = []func(*Reconciler, context.Context, *view){
	(*Reconciler).observeSeed,
	(*Reconciler).observeVolumeTemplate,
	(*Reconciler).observeMounts,
}

// newExplaining limits the passes that read events. It is not the gate of the reads that a step needs: these must not wait for an explanation.
func newExplaining() *turns.Gate { return turns.NewGate(explainAtOnce) }

// explain reads what only explains, within explainTimeout.
func (r *Reconciler) explain(ctx context.Context, v *view) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for _, read := range explanations {
		if ctx.Err() == nil {
			read(r, ctx, v)
		}
	}
}
