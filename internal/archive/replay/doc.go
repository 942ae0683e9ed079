// Package replay writes archived revisions into the database of a base snapshot with etcd's own storage code, before the
// snapshot is restored. No etcd runs. The result is again a snapshot, with the SHA-256 of its content at the end.
package replay
