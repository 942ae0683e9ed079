package restore

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
)

// replays runs one replay at a time, because each of them may use all of the memory for replays.
type replays struct {
	process replay.Process
	slot    chan struct{}
}

func newReplays(memory int64) replays {
	return replays{replay.Process{Memory: memory}, make(chan struct{}, 1)}
}

func (r replays) run(ctx context.Context, o replay.Order) (replay.Result, error) {
	select {
	case r.slot <- struct{}{}:
	case <-ctx.Done():
		return replay.Result{}, context.Cause(ctx)
	}
	defer func() { <-r.slot }()
	return r.process.Replay(ctx, o)
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
