// Package e2e tests the suite as its users see it: installed by Helm on a real Kubernetes, with real etcd, a real S3
// server and a GCS emulator. Each test has its own namespace.
//
// A test that uses only its namespace calls t.Parallel. Tests that stop nodes, replace operators or buckets, or count the
// requests that fail, run alone before those. Tests whose name begins with TestLong run by make e2e-long only.
//
// The tests need TEST_BIN, which make e2e sets. Without it they are skipped, or fail if CI is true.
package e2e
