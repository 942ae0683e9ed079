// Package ready measures how long an EtcdCluster takes to become ready: one new cluster, five that are created at once, one that
// grows, and one that loses a Pod. It compares the median with that of a plain StatefulSet, and measures both alternately in the same
// run. It also measures the outage of an in-place restore, and what a client sees during each operation. It needs a Kubernetes and is not part of the tests: run make bench-ready.
package ready
