// Package servers starts the real servers of the integration tests: etcd, an S3
// server (versitygw), and emulators of GCS (fake-gcs-server) and of Azure Blob
// Storage (azurite). Each listens on free
// loopback ports and keeps its data in the test's temporary directory. t.Cleanup
// ends it. If the test fails, the end of the server's log is shown.
//
// The programs are in the directory TEST_BIN. If one is missing, the test is
// skipped. If CI is true, it fails instead, so that a missing program cannot go
// unnoticed.
package servers
