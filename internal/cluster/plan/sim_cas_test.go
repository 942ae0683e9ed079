package plan_test

import "testing"

// TestRandomFaultsWhileCAsAreReplacedBreakNothing adds CAs of TLS.managed that are rotated, lost and expired to all other faults, and wrong clocks of nodes.
func TestRandomFaultsWhileCAsAreReplacedBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{managed: true})
}

// TestRandomFaultsWhileAUserReplacesCAsBreakNothing does so with Secrets that a user writes.
func TestRandomFaultsWhileAUserReplacesCAsBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{static: true})
}
