// Package observed is what a command has read from Kubernetes and from members, and what follows from it without judging.
package observed
