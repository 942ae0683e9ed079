package backup

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// isSeries returns whether the spec asks for more than one snapshot.
func isSeries(spec v1beta2.EtcdBackupSpec) bool {
	p := spec.BackupPolicy
	return p != nil && (p.Schedule != "" || p.BackupIntervalInSecond > 0)
}

// rhythm is the schedule of a series. The schedule of a one-shot is never due.
func rhythm(spec v1beta2.EtcdBackupSpec) (schedule.Schedule, error) {
	switch p := spec.BackupPolicy; {
	case !isSeries(spec):
		return schedule.Schedule{}, nil
	case p.Schedule != "" && p.BackupIntervalInSecond > 0:
		return schedule.Schedule{}, errors.New("it has both schedule and backupIntervalInSecond: write one of them")
	case p.Schedule != "":
		return schedule.Parse(p.Schedule, p.TimeZone)
	default:
		return schedule.Every(seconds(p.BackupIntervalInSecond)), nil
	}
}

// badPolicy returns what is wrong with schedules, time zones and retention that the API server cannot check.
func badPolicy(spec v1beta2.EtcdBackupSpec) error {
	if _, err := rhythm(spec); err != nil {
		return fmt.Errorf("backupPolicy: %w", err)
	}
	if spec.Drill != nil {
		if _, err := schedule.Parse(spec.Drill.Schedule, spec.Drill.TimeZone); err != nil {
			return fmt.Errorf("drill: %w", err)
		}
	}
	if spec.BackupPolicy != nil && spec.BackupPolicy.Retention != nil {
		if _, err := keepWithin(spec.BackupPolicy.Retention.KeepWithin); err != nil {
			return fmt.Errorf("backupPolicy.retention.keepWithin: %w", err)
		}
	}
	return nil
}

// units of keepWithin.
var units = map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}

// keepWithin parses numbers with units, such as "1d12h". An empty text is 0.
func keepWithin(text string) (time.Duration, error) {
	var total time.Duration
	for rest := text; rest != ""; {
		end := strings.IndexAny(rest, "wdhms")
		if end < 1 {
			return 0, fmt.Errorf("%q: write numbers with units w, d, h, m and s, such as \"2w\" or \"1d12h\"", text)
		}
		number, err := strconv.ParseUint(rest[:end], 10, 32)
		if err != nil || number > 99999 {
			return 0, fmt.Errorf("%q: write numbers of at most five digits with units w, d, h, m and s, such as \"2w\"", text)
		}
		total = min(total+min(time.Duration(number)*units[rest[end]], century), century)
		rest = rest[end+1:]
	}
	return total, nil
}

// century is the longest duration. A time.Duration cannot hold much more.
const century = 100 * 365 * 24 * time.Hour

// seconds returns a number of seconds of the spec. A larger one than a century means the same as a century, because it would
// overflow.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(century/time.Second))) * time.Second
}

// policy returns the retention policy of the spec.
func policy(name string, spec v1beta2.EtcdBackupSpec) snapshot.Policy {
	out := snapshot.Policy{Owner: snapshot.Owner{Backup: name}, Verify: spec.Verify == v1beta2.VerifyRestore, Tests: spec.Drill != nil}
	p := spec.BackupPolicy
	if p == nil {
		return out
	}
	out.MaxBackups, out.Window = p.MaxBackups, archiveWindow(spec.Continuous)
	if zone, err := schedule.Zone(p.TimeZone); err == nil {
		out.Zone = zone
	}
	if r := p.Retention; r != nil {
		out.Within, _ = keepWithin(r.KeepWithin) // badPolicy has checked it
		out.Hourly, out.Daily, out.Weekly, out.Monthly = r.KeepHourly, r.KeepDaily, r.KeepWeekly, r.KeepMonthly
	}
	return out
}

// Series returns whether the spec asks for more than one snapshot.
func (s State) Series() bool { return isSeries(s.Spec) }

// asked returns whether a user or the archiver has requested a snapshot of the series now.
func (s State) asked() bool { return s.requested() || s.baseWanted() }

// requested returns whether a user has.
func (s State) requested() bool {
	return s.Series() && s.Request != "" && s.Request != s.Status.HandledRequest
}

func (s State) suspended() bool { return s.Series() && s.Spec.BackupPolicy.Suspend && !s.asked() }

// turn returns when the next snapshot of the series is due. It is not after Now if one is due. It depends on the newest
// snapshot and not on a timer: a restart changes nothing, and several missed snapshots are replaced by one.
func (s State) turn() time.Time {
	r, err := rhythm(s.Spec)
	if err != nil || s.asked() {
		return s.Now
	}
	since, found := s.newest()
	if !found && (s.Spec.BackupPolicy.Schedule == "" || s.Spec.BackupPolicy.Immediate) {
		return s.Now // the first snapshot of an interval is due at once
	}
	if !found {
		since = s.CreatedAt
	}
	due := func(tick time.Time) time.Time { return spread(r, tick, s.UID, s.jitter()) }
	last, missed := r.Last(since, s.Now)
	if first := r.Next(since); !missed || s.Now.Before(due(first)) {
		return due(first)
	}
	if limit := s.Spec.BackupPolicy.StartingDeadlineSeconds; limit != nil && s.Now.Sub(due(last)) > seconds(*limit) {
		return due(r.Next(last))
	}
	return last
}

// overdue returns when a series has missed two snapshots since its newest one, or since it was created. It is zero for a series that
// is suspended, and for a single snapshot.
func (s State) overdue() time.Time {
	since, found := s.newest()
	if !found {
		since = s.CreatedAt
	}
	return s.overdueSince(since)
}

// overdueSince returns when a series has missed two snapshots since a time.
func (s State) overdueSince(since time.Time) time.Time {
	r, err := rhythm(s.Spec)
	if err != nil || !s.Series() || s.suspended() {
		return time.Time{}
	}
	first := r.Next(since)
	if first.IsZero() {
		return first
	}
	return r.Next(first)
}

// jitter is 0 for an interval: it begins with each snapshot, so the queue spreads it already.
func (s State) jitter() time.Duration {
	if s.Spec.BackupPolicy.Schedule == "" {
		return 0
	}
	return s.Jitter
}

// drillable returns whether the spec asks for restore tests and there is a snapshot to test.
func (s State) drillable() bool {
	return s.Spec.Drill != nil && s.recorded() != nil
}

// drillTurn returns when the next restore test is due. It is zero if none ever is.
func (s State) drillTurn() time.Time {
	if !s.drillable() {
		return time.Time{}
	}
	if !s.fresh() && s.Status.DrillAttempts > 0 && s.Status.NextDrillTime != nil {
		if at := s.Status.NextDrillTime.Time; !clock.Ahead(at, s.Now.Add(lastTestDelay)) {
			return at
		}
		return s.Now
	}
	r, err := schedule.Parse(s.Spec.Drill.Schedule, s.Spec.Drill.TimeZone)
	if err != nil {
		return time.Time{}
	}
	since := s.CreatedAt
	if d := s.Status.LastDrill; d != nil && !clock.Ahead(d.Time.Time, s.Now) {
		since = d.Time.Time
	}
	if last, missed := r.Last(since, s.Now); missed && !s.Now.Before(spread(r, r.Next(since), s.UID, s.Jitter)) {
		return last
	}
	return spread(r, r.Next(since), s.UID, s.Jitter)
}

// spread returns when work for a time of a schedule is due. EtcdBackups with the same schedule are due at different times
// within the jitter, and each one always at the same. The delay is at most a tenth of the time to the next run.
func spread(r schedule.Schedule, tick time.Time, uid types.UID, jitter time.Duration) time.Time {
	if jitter <= 0 || tick.IsZero() {
		return tick
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid))
	longest := max(min(jitter, r.Next(tick).Sub(tick)/10), 0)
	return tick.Add((longest * time.Duration(hash.Sum32()%1000) / 1000).Truncate(time.Second))
}
