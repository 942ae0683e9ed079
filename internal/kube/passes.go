package kube

import "sigs.k8s.io/controller-runtime/pkg/reconcile"

// passes are those that run. A pass may wait for seconds for a member that one namespace controls, so a namespace that has its share leaves
// the rest to others. What it asks for more is held until one of its passes ends.
type passes struct {
	share   int
	running map[string]int
	held    map[string][]waiting
}

// waiting is a request that is held, with the priority that it had.
type waiting struct {
	request  reconcile.Request
	priority int
}
