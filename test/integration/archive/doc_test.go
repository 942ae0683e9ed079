// Package archive tests the continuous archive against real etcd: a random workload is archived while archivers and members
// are killed and the store fails, and random revisions and times are restored and compared with what the cluster had.
package archive_test
