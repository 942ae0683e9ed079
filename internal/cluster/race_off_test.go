//go:build !race

package cluster_test

// raceEnabled is false: the simulations run in full.
const raceEnabled = false
