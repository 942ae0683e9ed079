//go:build race

package cluster_test

// raceEnabled makes the simulations small: with the race detector they take ten times as long.
const raceEnabled = true
