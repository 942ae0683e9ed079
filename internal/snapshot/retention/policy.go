// Package retention decides which snapshots of a series are kept and which are deleted. It deletes nothing itself.
package retention

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Policy is the retention policy of a series. A snapshot is kept if any rule keeps it. If there is no rule, all snapshots
// are kept.
type Policy struct {
	// MaxBackups keeps this number of newest snapshots; 0 is no rule.
	MaxBackups int
	// Within keeps all snapshots that are not older than this at Now; 0 is no rule.
	Within time.Duration
	Now    time.Time
	// Ahead is how far this clock is ahead of the store's; 0 if unknown. If it is more than Skew, Within counts by the clock
	// of the store, because a clock that runs ahead would delete the whole history.
	Ahead time.Duration
	// Hourly keeps the newest snapshot of each of the last Hourly hours that have one. Daily, Weekly (from Monday) and
	// Monthly do the same for days, weeks and months. 0 is no rule.
	Hourly, Daily, Weekly, Monthly int
	// Window keeps the snapshots that a continuous archive needs to reach every revision of that time; 0 is no archive.
	Window time.Duration
	// Zone of the hours, days, weeks and months; nil is UTC.
	Zone *time.Location
	// Owner limits the policy to the snapshots of an EtcdBackup, and those without a name of one. If it is empty, the policy is for
	// those of all EtcdBackups.
	Owner snapshot.Owner
	// Signers are those of the EtcdBackup. If they require a signature, a snapshot without one takes the place of no signed one: who can write to
	// the bucket can write it. The zero value requires none.
	Signers snapshot.Signers
	// Saved is the key of the snapshot that was just saved. It is always kept.
	Saved string
	// Verify means that every snapshot is tested by a restore. Tests means that the newest one is tested from time to
	// time. With either of them, a snapshot counts as good only if it has passed a test.
	Verify, Tests bool
}

// KeepsAll reports whether the policy has no rule, so that all snapshots are kept.
func (p Policy) KeepsAll() bool {
	return p.MaxBackups < 1 && p.Within <= 0 && p.Hourly < 1 && p.Daily < 1 && p.Weekly < 1 && p.Monthly < 1
}

// correct sets Now by the clock of the store if this clock is ahead of it, and returns a notice.
func (p *Policy) correct() string {
	if p.Ahead <= snapshot.Skew {
		return ""
	}
	p.Now = p.Now.Add(-p.Ahead)
	return fmt.Sprintf("The clock of the operator is %s ahead of the clock of the store. Until they agree, keepWithin counts by the clock of the store. Check the clock of the node.", p.Ahead.Round(time.Second))
}

// within reports whether Within keeps an item.
func (p Policy) within(i catalog.Item) bool {
	return p.Within > 0 && i.Time.After(p.Now.Add(-p.Within))
}

// keptByRules reports for each item, newest first, whether a rule other than Within keeps it. The newest item is always
// kept.
func (p Policy) keptByRules(items []catalog.Item) []bool {
	kept := make([]bool, len(items))
	for i := range min(max(p.MaxBackups, 1), len(items)) {
		kept[i] = true
	}
	p.keepNewestOfEach(items, kept, p.Hourly, func(t time.Time) int64 { return floor(t, time.Hour) })
	p.keepNewestOfEach(items, kept, p.Daily, func(t time.Time) int64 { return floor(t, day) })
	// Day 0 of Unix time was a Thursday.
	p.keepNewestOfEach(items, kept, p.Weekly, func(t time.Time) int64 { return floor(t.Add(3*day), 7*day) })
	p.keepNewestOfEach(items, kept, p.Monthly, func(t time.Time) int64 { return int64(t.Year())*12 + int64(t.Month()) })
	return kept
}

const day = 24 * time.Hour

// floor returns the number of the hour, day or week of a time that wall has returned.
func floor(t time.Time, unit time.Duration) int64 {
	seconds, size := t.Unix(), int64(unit/time.Second)
	if seconds < 0 {
		seconds -= size - 1
	}
	return seconds / size
}

// keepNewestOfEach keeps the newest snapshot of each of the last periods that have one.
func (p Policy) keepNewestOfEach(items []catalog.Item, kept []bool, periods int, period func(time.Time) int64) {
	last, first := int64(0), true
	for i, item := range items {
		number := period(p.wall(item.Time))
		if !first && number == last {
			continue
		}
		if periods--; periods < 0 {
			return
		}
		last, first, kept[i] = number, false, true
	}
}

// wall returns the wall clock time in the policy's zone, as if it were UTC.
func (p Policy) wall(t time.Time) time.Time {
	if p.Zone == nil {
		return t
	}
	_, offset := t.In(p.Zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}
