// Package turns shares what is scarce between namespaces: workers, space, and passes. Each queue of an operator is
// built on Order, so that a namespace which waits or stalls delays no other one. A test of this package lists these queues.
package turns

import "cmp"

// Order is the order in which namespaces get what they share. Of those that wait, the one that holds the least comes first. Of several
// such, the one that was served longest ago comes first. The lock of its owner protects it. The zero value is ready to use.
type Order struct {
	held   map[string]int64
	served map[string]uint64
	count  uint64
}

// Take records that a namespace got an amount. The namespace is the last one of those that hold as much.
func (o *Order) Take(namespace string, amount int64) {
	if o.held == nil {
		o.held, o.served = map[string]int64{}, map[string]uint64{}
	}
	o.count++
	o.served[namespace] = o.count
	o.held[namespace] += amount
}

// Return records that a namespace has returned an amount, or took more with a negative one.
func (o *Order) Return(namespace string, amount int64) {
	if o.held[namespace] -= amount; o.held[namespace] == 0 {
		delete(o.held, namespace)
	}
}

// Held returns what a namespace holds.
func (o *Order) Held(namespace string) int64 { return o.held[namespace] }

// Compare returns a negative number if it is the turn of namespace a before that of b.
func (o *Order) Compare(a, b string) int {
	return cmp.Or(cmp.Compare(o.held[a], o.held[b]), cmp.Compare(o.served[a], o.served[b]))
}

// Share returns how many of that many slots one namespace may hold: one fewer, so that its slow work leaves a slot to all others.
func Share(slots int) int { return max(slots-1, 1) }

// Reason is why something waits. It never names another namespace.
type Reason string

// The reasons. Only OwnShare is one that the namespace can change.
const (
	None     Reason = ""
	OwnShare Reason = "this namespace uses as much as one namespace may"
	AllInUse Reason = "everything is in use, and namespaces take turns"
	Bucket   Reason = "this bucket has as many at the same time as one bucket may"
	Earlier  Reason = "it is the turn of one that has waited longer"
	Worker   Reason = "it has what it needs there, and waits for a worker of the operator"
)
