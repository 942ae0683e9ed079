//go:build race

package standby

// shadow is how many bytes a byte takes with the race detector's own memory, or without it.
const shadow = 6
