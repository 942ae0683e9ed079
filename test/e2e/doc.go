// Package e2e holds what the suite promises, seen as its users see it: the chart installed by Helm on a real
// Kubernetes, real etcd, a real S3 server, the GCS emulator. Each test has a namespace of its own.
//
// Without TEST_BIN (make e2e sets it) the tests are skipped, but under CI=true that is a failure.
package e2e
