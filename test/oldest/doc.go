// Package oldest checks what the chart renders against the oldest supported Kubernetes. It is a module of its own, because it
// needs that release's libraries.
package oldest
