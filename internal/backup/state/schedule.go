package state

import (
	"errors"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
)

// ScheduleOf is the schedule of a series. The schedule of a one-shot is never due.
func ScheduleOf(spec v1beta2.EtcdBackupSpec) (schedule.Schedule, error) {
	switch p := spec.BackupPolicy; {
	case !isSeries(spec):
		return schedule.Schedule{}, nil
	case p.Schedule != "" && p.BackupIntervalInSecond > 0:
		return schedule.Schedule{}, errors.New("it has both schedule and backupIntervalInSecond: write one of them")
	case p.Schedule != "":
		return schedule.Parse(p.Schedule, p.TimeZone)
	default:
		return schedule.Every(Seconds(p.BackupIntervalInSecond)), nil
	}
}

// ScheduleJitter is 0 for an interval: it begins with each snapshot, so the queue spreads it already.
func (s State) ScheduleJitter() time.Duration {
	if s.Spec.BackupPolicy.Schedule == "" {
		return 0
	}
	return s.Jitter
}

// Spread returns when work for a time of a schedule is due. EtcdBackups with the same schedule are due at different times
// within the jitter, and each one always at the same. The delay is at most a tenth of the time to the next run.
func Spread(r schedule.Schedule, tick time.Time, uid types.UID, jitter time.Duration) time.Time {
	if jitter <= 0 || tick.IsZero() {
		return tick
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid))
	longest := max(min(jitter, r.Next(tick).Sub(tick)/10), 0)
	return tick.Add((longest * time.Duration(hash.Sum32()%1000) / 1000).Truncate(time.Second))
}
