// Package cluster is cluster-operator: it owns EtcdClusters.
//
// One pass has one direction: observe reads Kubernetes and etcd into a plan.State, plan.Plan picks one Step from it, act does
// the one effect of that step, and plan.NewStatus computes the status from all of it. A change of two systems is two
// steps, and Plan recognises the State half-way between them, so the operator may be killed between any two
// instructions.
package cluster
