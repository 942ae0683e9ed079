package restore

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

func (r replays) run(ctx context.Context, asked Asked, o replay.Order) (replay.Result, error) {
	done := asked.waits("the end of another replay", func() turns.Reason { return r.slot.Why(asked.Namespace) })
	leave, err := r.slot.Enter(ctx, asked.Namespace)
	if done(); err != nil {
		return replay.Result{}, err
	}
	defer leave()
	o.Store = pace.Objects(ctx, o.Store)
	var result replay.Result
	err = r.slot.Limited(ctx, asked.Namespace, replay.SizeOf(o), func(ctx context.Context, a *turns.Allowance) (err error) {
		result, err = r.process.Replay(ctx, replay.Measured(o, a))
		return err
	})
	return result, err
}

const (
	// minOperatorMemory is what the operator needs besides a replay.
	minOperatorMemory = 256 << 20
	// minReplayMemory is what a replay of a small database needs.
	minReplayMemory = 100 << 20
)

func newReplays(memory int64) replays {
	return replays{replay.Process{Memory: memory}, turns.NewGate(1)}
}

// replays runs one replay at a time, because each of them may use all of the memory for replays. A replay reads the store, so it ends if
// that hardly moves. It also ends if it holds the slot for too long while others wait.
type replays struct {
	process replayer
	slot    *turns.Gate
}

// replayer is a replay.Process, except in tests.
type replayer interface {
	Replay(ctx context.Context, o replay.Order) (replay.Result, error)
}
