// Package restore is restore-operator: it owns EtcdRestores.
//
// One pass goes one way: observe reads Kubernetes and the running proof into a State, Plan picks one Step from
// it, act does that step's one effect, and Status computes the status from both. Plan and Status are pure.
//
// restore-operator reads the whole snapshot once and proves it, and touches no cluster. cluster-operator sees
// the proof in the status, restores, and reports in the EtcdCluster's status; this controller follows that and
// says Complete when the cluster does, and never before.
package restore
