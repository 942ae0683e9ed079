// Package restore is restore-operator, which owns EtcdRestores.
//
// In one pass, observe reads Kubernetes and the result of the running reading into a plan.State, plan.Plan picks one Step,
// act does the one effect of that Step, and plan.NewStatus computes the status. The package plan is pure.
//
// restore-operator reads the snapshot once, completely, and verifies it. It changes no cluster. cluster-operator sees the
// verified snapshot in the status, restores it, and reports its progress in the status of the EtcdCluster. This controller
// copies that report, and reports Complete only after the cluster does.
package restore
