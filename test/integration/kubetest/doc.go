// Package kubetest gives a test a real kube-apiserver, with etcd behind it and
// this suite's CRDs in it.
//
// One server is started for all tests of a package, when the first of them asks
// for it; a package that uses it says so:
//
//	func TestMain(m *testing.M) { kubetest.Main(m) }
//
// Every test works in a namespace of its own. There is no scheduler, kubelet or
// controller-manager: Pods stay Pending until the test writes their status,
// claims stay unbound, and nothing is deleted because its owner was.
//
// The programs come from the directory that TEST_BIN names; where they are
// missing the test is skipped, and under CI=true it fails.
package kubetest
