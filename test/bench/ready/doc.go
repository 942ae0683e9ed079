// Package ready measures how long a new EtcdCluster takes to become ready. It compares the median with that of a plain
// StatefulSet, and measures both alternately in the same run. It needs a Kubernetes and is not part of the tests: run make
// bench-ready.
package ready
