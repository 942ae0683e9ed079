//go:build !race

package plan_test

// raceEnabled is false: the simulations run in full.
const raceEnabled = false
