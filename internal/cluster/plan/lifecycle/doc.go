// Package lifecycle decides about the Pod of one member: the state that it is in, when it is created again, resized or deleted, and how long it may
// take to start.
package lifecycle
