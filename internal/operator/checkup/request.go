package checkup

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Request is what a release should have.
type Request struct {
	// Lease is the name of the operator's Lease. It is empty if the operator elects no leader.
	Lease     string
	Namespace string
	Version   string
	Rights    []Scope
	// Within is for how long the check waits for a leader, for example after helm install without --wait.
	Within time.Duration
}

// A Scope has the rights of the operator in one namespace, or in all if it is empty.
type Scope struct {
	Namespace string              `json:"namespace"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

// A Finding is one condition and whether it is met.
type Finding struct {
	Name   string
	Passed bool
	Detail string
}
