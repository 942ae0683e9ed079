// Package killer ends operators at chosen calls. A Life is one process of an operator: what it writes to the
// Kubernetes API and what it asks of etcd goes through it, and at the call that its Policy chooses it is dead, before
// the call has gone out or after it has had its effect: no later call of that life goes out, and its caller hears
// nothing but an error. The next Life starts with nothing but what is in Kubernetes and in etcd.
//
// Chain is the policy of one long run in which the operator is killed at every call there is.
package killer
