package plan_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often, because a simulated world is small and short: this halves the time of all simulations.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1000)
	}
	m.Run()
}
