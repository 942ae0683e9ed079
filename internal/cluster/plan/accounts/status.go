package accounts

import (
	"maps"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Status is what the status says of users and roles after a pass. tried: the operator began with the next changes, and made: it made all of them.
func Status(s state.State, tried, made bool) *v1beta2.AuthStatus {
	if !s.Spec.Auth.Manages() {
		return nil
	}
	record := s.AccountRecord.DeepCopy()
	if s.Forcing() {
		doubt(record)
	}
	if !s.Accounts.Known {
		return record
	}
	next := Next(s)
	is := after{
		AuthStatus: v1beta2.AuthStatus{Enabled: s.Accounts.Present.Enabled, Incarnation: record.Incarnation, RemovedUsers: record.RemovedUsers, RemovedRoles: record.RemovedRoles,
			AfterRestore: record.AfterRestore},
		users: set(s.Accounts.Present.Users), roles: set(s.Accounts.Present.Roles), versions: recorded(s),
	}
	if tried { // what a restore had brought back is named before it is changed: after an error, the next pass sees only what is left
		is.AfterRestore = afterRestore(s, next.Changes)
	}
	if tried && made {
		for _, c := range next.Changes {
			is.made(s, c)
		}
		maps.Copy(is.versions, next.Announced)
	}
	if next.empty() && !operatorsUnknown(s) {
		is.Incarnation = s.Incarnation
	}
	is.nameUsers(s)
	is.nameRoles(s)
	return &is.AuthStatus
}
