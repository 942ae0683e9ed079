// Package kubetest starts a real kube-apiserver with etcd and this suite's CRDs
// for a test.
//
// All tests of a package share one server. The first test that needs the server
// starts it. A package that uses kubetest declares:
//
//	func TestMain(m *testing.M) { kubetest.Main(m) }
//
// Every test has its own namespace. There is no scheduler, kubelet or
// controller-manager. Pods stay Pending until the test writes their status, claims
// stay unbound, and Kubernetes does not delete the dependents of deleted objects.
//
// The programs are in the directory TEST_BIN. If one is missing, the test is
// skipped, or fails if CI is true.
package kubetest
