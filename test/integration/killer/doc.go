// Package killer kills operators at chosen calls. A Life is one process of an operator, from its start to its kill. All
// of its writes to the Kubernetes API and all of its calls of etcd pass through the Life. The Policy chooses a call, and
// whether the kill is before the call is sent or after it had its effect. After the kill, the Life sends no more calls
// and returns only errors. The next Life starts with no state except that in Kubernetes and etcd.
//
// Chain is the policy that kills the operator at every call in one run.
package killer
