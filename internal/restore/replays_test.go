package restore

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestAReplayGetsTheMemoryThatTheOperatorDoesNotNeed(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		asked, replay, operator int64
		noticed                 bool
	}{
		"the requested memory fits":                                      {512 * mib, 512 * mib, 512 * mib, false},
		"the requested memory is too much":                               {2048 * mib, 768 * mib, 256 * mib, true},
		"the replay has no limit":                                        {0, 0, 1024 * mib, false},
		"the replay requests all memory that the operator does not need": {768 * mib, 768 * mib, 256 * mib, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(1024 * mib)
			defer debug.SetMemoryLimit(before)
			s, notice := Spool{}.WithReplayMemory(test.asked)
			if got := debug.SetMemoryLimit(-1); s.replays.process.Memory != test.replay || got != test.operator {
				t.Errorf("a replay gets %d MiB and the operator %d MiB, want %d and %d", s.replays.process.Memory/mib, got/mib, test.replay/mib, test.operator/mib)
			}
			if strings.Contains(notice, "Raise restoreOperator.resources.limits.memory") != test.noticed {
				t.Errorf("the notice is %q", notice)
			}
		})
	}
}
