// Package dbcheck checks the database of a snapshot in a child process. Another party chooses its bytes, and one operator serves
// all namespaces. So what such a file does to its reader, it does to a process that has a memory limit of its own, no
// credentials and one open file. The operator with all its other snapshots continues.
package dbcheck
