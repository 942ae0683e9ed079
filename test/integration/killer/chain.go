package killer

import (
	"fmt"
	"strings"
	"sync"

	"github.com/etcd-suite/etcd-operator/test/integration/sweep"
)

// Chain kills the operator at every call of an operation in one run: before each call, and after each that may have an
// effect. It identifies a call by its name and the number of effects before it. So it kills once at every point between
// two effects, and the operation always makes progress. It kills only a few times at equal patches that every Life
// sends, such as a counter of attempts. Package sweep may select a part of the calls.
type Chain struct {
	mu      sync.Mutex
	effects int
	seen    map[string]bool
	same    map[string]int
	kills   int
}

// maxEqualPatches limits the kills at patches that differ only in numbers.
const maxEqualPatches = 3

// Choose kills at a call if no Life was killed there yet.
func (c *Chain) Choose(call Call) KillPoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen, c.same = map[string]bool{}, map[string]int{}
	}
	for _, point := range []KillPoint{Before, After} {
		key := fmt.Sprintf("%d %s %d", c.effects, call.Name, point)
		same := fmt.Sprintf("%s %d %s", call.Name, point, call.Content)
		if c.seen[key] || (point == After && !call.Effect) || (call.Content != "" && c.same[same] == maxEqualPatches) {
			continue
		}
		c.seen[key] = true
		if !sweep.Selected(key) {
			continue
		}
		c.same[same]++
		c.kills++
		return point
	}
	return Never
}

// Done counts effects. A change that was refused or changed nothing is no effect.
func (c *Chain) Done(_ Call, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed {
		c.effects++
	}
}

// Kills returns how often the operator was killed.
func (c *Chain) Kills() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kills
}

// Effects returns how many calls had an effect.
func (c *Chain) Effects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects
}

// Count is a policy that never kills and counts the calls.
type Count struct {
	mu    sync.Mutex
	calls map[string]int
	// writes are the names and contents of the calls that may have an effect.
	writes []string
	// changes are those of writes that had an effect.
	changes []string
}

// Choose never kills.
func (c *Count) Choose(Call) KillPoint { return Never }

// Done counts a call.
func (c *Count) Done(call Call, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[call.Name]++
	if call.Effect {
		c.writes = append(c.writes, strings.TrimSpace(call.Name+" "+call.Content))
	}
	if changed {
		c.changes = append(c.changes, strings.TrimSpace(call.Name+" "+call.Content))
	}
}

// Calls returns how often each call was made.
func (c *Count) Calls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make(map[string]int, len(c.calls))
	for name, n := range c.calls {
		calls[name] = n
	}
	return calls
}

// Writes returns the calls that may have had an effect, with their contents, in order.
func (c *Count) Writes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.writes...)
}

// Changes returns the writes that had an effect, in order.
func (c *Count) Changes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.changes...)
}

// Reset sets all counts to zero.
func (c *Count) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.writes, c.changes = nil, nil, nil
}
