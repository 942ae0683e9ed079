package operator

import "slices"

// Namespaces is a set of namespaces. "*" and nil mean all.
type Namespaces []string

// Allow reports whether the namespace is in the set.
func (n Namespaces) Allow(namespace string) bool {
	return n == nil || slices.Contains(n, "*") || slices.Contains(n, namespace)
}
