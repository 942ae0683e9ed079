// Package failure turns errors into the API's reasons, with advice what to do.
package failure

import (
	"errors"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Error is an error whose Failure is known where it occurs.
type Error struct{ state.Failure }

// Error is the message.
func (e *Error) Error() string { return e.Message }

// New returns an error whose reason is known where it occurs.
func New(reason, message string) error {
	return &Error{state.Failure{Reason: reason, Message: message}}
}

// ownIdentity is the value of the chart that says which namespaces may use the operator's own identity, and where.
const ownIdentity = "backupOperator.ownIdentity"

// RefusedBy returns the Failure if an error says that the values of the chart do not allow a path.
func RefusedBy(err error, what string) *state.Failure {
	reason, advice := grant.Explain(err, ownIdentity)
	if reason == "" {
		return nil
	}
	return &state.Failure{Reason: reason, Message: planning.Sentence(what, err.Error()) + " " + advice}
}

// ErrMembers means that the members of the cluster failed, and not the store.
var ErrMembers = errors.New("the members of etcd")
