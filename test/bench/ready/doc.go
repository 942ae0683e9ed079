// Package ready measures how long a cluster takes to be ready, against a floor that is measured in the same run, one after the other
// by turns, and compares medians. It needs a Kubernetes and is not part of the tests: run make bench-ready.
package ready
