// Package restoretest runs the restore of a restore test in a child process. etcd's index needs about 300 bytes of memory
// for each key. A child with a memory limit of its own can exceed it and end, and the operator with all its snapshots
// continues. The child gets two paths and two revisions. It has no credentials and connects to nothing.
package restoretest
