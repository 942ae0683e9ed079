// Package region tries a standby in another place on a real Kubernetes. Two installations of the suite, each with its own operators and its own
// namespace, have only the object store in common. The nodes of one of them, with all its members and operators, are lost at once.
//
// The test starts a fresh local Kubernetes, because it takes nodes away. It needs TEST_BIN, which make e2e-region sets.
package region
