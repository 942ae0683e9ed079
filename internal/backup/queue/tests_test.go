package queue

import (
	"runtime/debug"
	"testing"
)

func TestMemoryOfTheOperatorIsDividedBetweenItAndItsRestoreTests(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		total, tests, memory int64
		each, left           int64
		notice               bool
	}{
		"the operator and its tests have enough memory": {2048, 1, 1024, 1024, 1024, false},
		"the tests get less memory than requested":      {1024, 2, 512, 384, 256, true},
		"there is too little memory for any test":       {300, 1, 512, 0, 300, true},
		"tests without a limit":                         {1024, 1, 0, 0, 1024, false},
		"the operator has much memory":                  {1 << 20, 1, 512, 512, 1<<20 - 512, false},
	} {
		t.Run(name, func(t *testing.T) {
			limit := setMemoryLimit(t, test.total*mib)
			got, notice, err := OpenTests(Options{MaxRestoreTests: int(test.tests), RestoreTestMemory: test.memory * mib})
			if (err != nil) != (test.left == 300) || err == nil && (notice != "") != test.notice {
				t.Fatalf("notice %q, error %v", notice, err)
			}
			if got.Memory != test.each*mib || limit() != test.left*mib {
				t.Errorf("each test has %d MiB, and the operator %d MiB", got.Memory/mib, limit()/mib)
			}
		})
	}
}

// setMemoryLimit sets the memory limit of this process during the test, and returns a function that reads it.
func setMemoryLimit(t *testing.T, bytes int64) (read func() int64) {
	t.Helper()
	before := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	return func() int64 { return debug.SetMemoryLimit(-1) }
}
