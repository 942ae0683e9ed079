// Package state is what a decision of cluster-operator may look at, and what follows from it without deciding.
//
// A State is plain data: one EtcdCluster, what Kubernetes holds for it, and what its members report. The functions of this package answer
// questions about a State that several concepts of the plan ask. They name no step. The package imports no client, no context and no clock.
package state
