// Package servers starts the real programs that integration tests run against:
// etcd, an S3 server (versitygw), a GCS emulator (fake-gcs-server) and one of Azure
// (azurite). Each
// listens on free loopback ports, keeps its data in the test's temporary
// directory, is ended by t.Cleanup, and shows the end of its log when the test
// has failed.
//
// The programs are looked up in the directory that TEST_BIN names. Where one is
// missing the test is skipped with one line; under CI=true it fails instead, so
// that a missing program never passes for a green run.
package servers
