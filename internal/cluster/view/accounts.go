package view

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ReadAccounts is what was last read of the users and roles of an EtcdCluster. Each reading costs entries of the log of raft, so it is used for
// some minutes. Its zero value is ready to use.
type ReadAccounts struct {
	Present etcd.Accounts
	// At is when it was read; zero if it must be read again.
	At time.Time
	// Generation of the EtcdCluster and Incarnation that it was read for.
	Generation  int64
	Incarnation int32
	// Failed is why it could not be read, and when that was.
	Failed   error
	FailedAt time.Time
}

// AccountsChanged has users and roles read again by the next pass.
func (v *View) AccountsChanged() {
	if v.ReadAccounts != nil {
		v.ReadAccounts.At = time.Time{}
	}
}
