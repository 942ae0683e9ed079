package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// Soonest returns the shorter pause, if a copy or a report about the archive is due before the next pass.
func Soonest(s state.State, requeue time.Duration) time.Duration {
	if s.Archived() {
		if due := archiveReport(s); requeue == 0 || requeue > due {
			requeue = due
		}
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

// archiveReport returns when to look at the archive again. The end of the archive is up to maxLag old when it is read. So a
// pass exactly a minute after the last one could find that the end has moved by less than a minute, and report nothing.
func archiveReport(s state.State) time.Duration {
	if s.Archive == nil {
		return ArchiveInterval
	}
	reported := Recoverable(s.Status.Recoverable, s.Archive.Ranges, s.Archive.Begun, s.Now)
	if len(reported) == 0 {
		return ArchiveInterval
	}
	due := reported[len(reported)-1].To.Time.Add(ArchiveInterval + state.MaxLag(s.Spec.Continuous) + time.Second)
	return min(max(due.Sub(s.Now), ArchiveInterval/4), ArchiveInterval+ArchiveInterval/4)
}
