package steps

import (
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// Step is one effect, which describes itself. Steps are small structs, so that a test compares what Plan returns.
//
//sumtype:decl
type Step interface {
	// describe returns what users and the queue are told about the step in that State.
	Describe(s state.State) planning.Description
}

// Describe returns what users and the queue are told about the step in that State.
func Describe(s state.State, step Step) planning.Description {
	d := step.Describe(s)
	if left, due := s.RenewalIn(); due && left > 0 && (d.Requeue == 0 || left < d.Requeue) {
		d.Requeue = left
	}
	return d
}
