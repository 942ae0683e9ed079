// Package cluster is cluster-operator: it owns EtcdClusters.
//
// One pass goes one way: observe reads Kubernetes and etcd into a State, Plan picks one Step from it, act does
// that step's one effect, and NewStatus computes the status from all of it. Plan and NewStatus are pure. A
// change that touches two systems is two steps, and every half-way point is a State that Plan recognises, so
// the operator may be killed between any two instructions.
package cluster
