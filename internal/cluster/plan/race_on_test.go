//go:build race

package plan_test

// raceEnabled makes the simulations small: with the race detector they take ten times as long.
const raceEnabled = true
