package killer

import (
	"fmt"
	"strings"
	"sync"
)

// Chain kills at every call of an operation in one run: before each, and after each that may have an effect. Calls
// are told apart by their name and by how many effects there were before, so that every point between two effects
// is visited, and each once: the operation always gets on. What is done anew in each life, such as counting the
// attempts at something, is died of a few times only.
type Chain struct {
	mu      sync.Mutex
	effects int
	seen    map[string]bool
	same    map[string]int
	deaths  int
}

// sameDeaths is how often an operator dies at patches that differ in figures only.
const sameDeaths = 3

// Choose kills where nobody died yet.
func (c *Chain) Choose(call Call) Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen, c.same = map[string]bool{}, map[string]int{}
	}
	for _, moment := range []Moment{Before, After} {
		key := fmt.Sprintf("%d %s %d", c.effects, call.Name, moment)
		same := fmt.Sprintf("%s %d %s", call.Name, moment, call.Content)
		if c.seen[key] || (moment == After && !call.Effect) || (call.Content != "" && c.same[same] == sameDeaths) {
			continue
		}
		c.seen[key] = true
		c.same[same]++
		c.deaths++
		return moment
	}
	return Never
}

// Done counts effects. A change that was refused, or was there already, is none.
func (c *Chain) Done(_ Call, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed {
		c.effects++
	}
}

// Deaths is how often the operator was killed.
func (c *Chain) Deaths() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths
}

// Effects is how many calls had an effect.
func (c *Chain) Effects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects
}

// Count is a policy that lets everybody live, and counts.
type Count struct {
	mu    sync.Mutex
	calls map[string]int
	// writes were to have an effect: names and contents.
	writes []string
}

// Choose lets live.
func (c *Count) Choose(Call) Moment { return Never }

// Done counts.
func (c *Count) Done(call Call, _ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[call.Name]++
	if call.Effect {
		c.writes = append(c.writes, strings.TrimSpace(call.Name+" "+call.Content))
	}
}

// Calls is how often each call was made.
func (c *Count) Calls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make(map[string]int, len(c.calls))
	for name, n := range c.calls {
		calls[name] = n
	}
	return calls
}

// Writes are the calls that were to have an effect, with their contents, in order.
func (c *Count) Writes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.writes...)
}

// Reset begins to count anew.
func (c *Count) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.writes = nil, nil
}
