package plan

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// Recoverable returns the ranges of an archive for the status. While the archiver runs, the last one ends where the archiver decided, see Pace. If it
// does not run, the cluster may be lost, so the exact end is reported.
func Recoverable(a state.Archive) []v1beta2.RecoverableRange {
	ranges := shown(a.Ranges)
	if n := len(ranges); n > 0 && a.Begun && a.Shown != (archive.Point{}) {
		ranges[n-1].To = pointOf(a.Shown)
	}
	return ranges
}

func shown(ranges []archive.Range) []v1beta2.RecoverableRange {
	all := make([]v1beta2.RecoverableRange, 0, len(ranges))
	for _, r := range ranges {
		shown := v1beta2.RecoverableRange{From: pointOf(r.From), To: pointOf(r.To), Timeline: int64(r.Timeline)}
		for _, hidden := range r.Hidden {
			shown.OnlyByTime = append(shown.OnlyByTime, v1beta2.RevisionRange(hidden))
		}
		all = append(all, shown)
	}
	return all
}

// CopyRecoverable returns the ranges of a copied archive for the status. If only the end of the last one has moved, and by less than a minute, it
// keeps what was reported, so that the status is written at most once a minute. If the copier does not run, a location may be
// lost, so the exact end is reported. So is an end in the future, from a clock that was ahead: its time does not move until then.
func CopyRecoverable(before []v1beta2.RecoverableRange, ranges []archive.Range, running bool, now time.Time) []v1beta2.RecoverableRange {
	after := shown(ranges)
	if n := len(after); running && n > 0 && n == len(before) {
		last := after[n-1]
		last.To = before[n-1].To
		moved := after[n-1].To.Time.Sub(before[n-1].To.Time.Time)
		stands := moved == 0 && last.To.Time.After(now)
		same := slices.Equal(last.OnlyByTime, before[n-1].OnlyByTime)
		same = same && last.Timeline == before[n-1].Timeline && last.From.Revision == before[n-1].From.Revision && moved >= 0 && moved < ArchiveInterval && !stands
		for i := range n - 1 {
			same = same && after[i].Timeline == before[i].Timeline && after[i].From.Revision == before[i].From.Revision && after[i].To.Revision == before[i].To.Revision &&
				slices.Equal(after[i].OnlyByTime, before[i].OnlyByTime)
		}
		if same {
			return before
		}
	}
	return after
}

// Pace is the shortest time between two reports of the end of an archive while there are writes. It grows with the number of archives of the operator.
func Pace(archives int64) time.Duration {
	return min(max(WritingInterval, time.Duration(archives)*time.Second/mostReports), ArchiveInterval)
}

// mostReports is how many of these reports all archives of an operator make in a second. With 1,000 archives, the status is then at most 10 seconds
// older than what the store has.
const mostReports = 100

// WritingInterval is the pace of a few archives.
const WritingInterval = 4 * time.Second

// ArchiveInterval is the shortest time between two updates of the end of an archive in the status, if only its time has moved.
const ArchiveInterval = time.Minute

func pointOf(p archive.Point) v1beta2.RecoverablePoint {
	return v1beta2.RecoverablePoint{Revision: p.Revision, Time: *state.Second(p.At)}
}
