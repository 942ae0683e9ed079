package state

// The tests of this package use statetest, which imports it.
const Century = century

var (
	KeepWithin = keepWithin
	RecoveryID = recoveryID
)
