package observe

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// explainTimeout is how long one pass takes at most for all reads that only explain. The rest of PassTimeout is for the plan and its step.
	explainTimeout = 2 * time.Second

	// explainAtOnce is how many passes read events at the same time. One namespace has one fewer.
	explainAtOnce = 2
)

// explanations are the reads whose result stands only in the status: the plan takes the same steps without it. Each one ends with its context. It
// returns no error, because a pass plans without the explanation.
var explanations = []func(*Observer, context.Context, *view.View){
	(*Observer).observeSeed,
	func(o *Observer, ctx context.Context, v *view.View) { o.Rehearsals.ObserveVolumeTemplate(ctx, v) },
	(*Observer).observeMounts,
}

// NewExplaining limits the passes that read events. It is not the gate of the reads that a step needs: these must not wait for an explanation.
func NewExplaining() *turns.Gate { return turns.NewGate(explainAtOnce) }

// explain reads what only explains, within explainTimeout.
func (o *Observer) explain(ctx context.Context, v *view.View) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for _, read := range explanations {
		if ctx.Err() == nil {
			read(o, ctx, v)
		}
	}
}
