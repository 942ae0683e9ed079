// Package e2e tests the suite as its users see it: installed by Helm on a real Kubernetes, with real etcd, a real S3
// server and a GCS emulator. Each test has its own namespace.
//
// The tests need TEST_BIN, which make e2e sets. Without it they are skipped, or fail if CI is true.
package e2e
