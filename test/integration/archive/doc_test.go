// Package archive tests the continuous archive against real etcd: a random workload is archived while archivers and members
// are killed and the store fails, and random revisions and times are restored and compared with what the cluster had. The
// archivers are objects in the test's process, or processes of backup-operator (make campaign).
package archive_test
