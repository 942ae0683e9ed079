package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// Soonest returns the shorter pause, if a copy is due before the next pass, or if an archive was not looked at for a minute. The archiver asks for a pass
// when its end is to be reported.
func Soonest(s state.State, requeue time.Duration) time.Duration {
	if s.Archived() && (requeue == 0 || requeue > ArchiveInterval) {
		requeue = ArchiveInterval
	}
	turn := CopyTurn(s)
	if turn.IsZero() || s.Deleting {
		return requeue
	}
	if wait := sleep(s.Now, turn); requeue == 0 || wait < requeue {
		return wait
	}
	return requeue
}
