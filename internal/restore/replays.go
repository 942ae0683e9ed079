package restore

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"

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

// WithReplayMemory limits the memory of a replay. It takes this memory off that of the operator (GOMEMLIMIT). If it does not
// fit, the replay gets less, and notice reports that.
func (s Spool) WithReplayMemory(memory int64) (limited Spool, notice string) {
	const mib = 1 << 20
	total := debug.SetMemoryLimit(-1)
	if total == math.MaxInt64 || memory == 0 {
		s.replays = newReplays(memory)
		return s, ""
	}
	if left := total - minOperatorMemory; left < memory {
		notice = fmt.Sprintf("The memory of a replay is %d MiB instead of %d MiB, because the operator has %d MiB and needs %d MiB itself. "+
			"Raise restoreOperator.resources.limits.memory or lower restoreOperator.replay.memory.", max(left, minReplayMemory)/mib, memory/mib, total/mib, minOperatorMemory/mib)
		memory = max(left, minReplayMemory)
	}
	debug.SetMemoryLimit(total - memory)
	s.replays = newReplays(memory)
	return s, notice
}

func newReplays(memory int64) replays {
	return replays{replay.Process{Memory: memory}, turns.NewGate(1)}
}
