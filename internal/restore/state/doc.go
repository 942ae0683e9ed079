// Package state is what a decision about an EtcdRestore may look at, and what follows from it without deciding. It names no step, and imports no
// client, no context and no clock.
package state
