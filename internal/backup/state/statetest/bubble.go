package statetest

import (
	"testing"
	"testing/synctest"
)

// Bubble runs a test in which time passes only when all goroutines wait.
func Bubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
