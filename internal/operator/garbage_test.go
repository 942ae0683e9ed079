package operator

import (
	"runtime/debug"
	"testing"
)

func TestTheEnvironmentDecidesHowMuchGarbageIsLeft(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "200")
	if limitGarbage(); debug.SetGCPercent(100) != 100 {
		t.Error("the operator overrides GOGC")
	}
	t.Setenv("GOGC", "")
	if limitGarbage(); debug.SetGCPercent(100) != garbagePercent {
		t.Errorf("without GOGC, the operator does not leave %d %%", garbagePercent)
	}
}
