// Package e2e tests the suite as its users see it: installed by Helm on a real Kubernetes, with real etcd, a real S3
// server and a GCS emulator. Each test has its own namespace.
//
// A test that uses only its namespace calls t.Parallel. Tests that stop nodes, or replace operators or buckets, run alone before
// those. So does the one that counts the outages of every upgrade. Tests whose name begins with TestLong run by make e2e-long only.
//
// The tests need TEST_BIN, which make e2e sets. Without it they are skipped, or fail if CI is true.
package e2e
