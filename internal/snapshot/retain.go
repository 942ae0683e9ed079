package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Policy is the retention policy of a series. A snapshot is kept if any rule keeps it. If there is no rule, all snapshots
// are kept.
type Policy struct {
	// MaxBackups keeps this number of newest snapshots; 0 is no rule.
	MaxBackups int
	// Within keeps all snapshots that are not older than this at Now; 0 is no rule.
	Within time.Duration
	Now    time.Time
	// Hourly keeps the newest snapshot of each of the last Hourly hours that have one. Daily, Weekly (from Monday) and
	// Monthly do the same for days, weeks and months. 0 is no rule.
	Hourly, Daily, Weekly, Monthly int
	// Zone of the hours, days, weeks and months; nil is UTC.
	Zone *time.Location
	// Backup limits deletion to the snapshots of this EtcdBackup, and those without a name. If empty, snapshots of all
	// EtcdBackups may be deleted.
	Backup string
	// Suspect is the key of a snapshot whose restore test failed. It does not count as good.
	Suspect string
}

func (p Policy) keepsAll() bool {
	return p.MaxBackups < 1 && p.Within <= 0 && p.Hourly < 1 && p.Daily < 1 && p.Weekly < 1 && p.Monthly < 1
}

// Retain returns the keys to delete, in this order. For each snapshot, the object comes before its manifest, so that a
// killed process leaves a manifest that the next run recognises as Headless. Retain only returns keys of this series
// whose manifest names the same cluster. It never returns the newest snapshot or the newest good one.
func Retain(series Series, listing Listing, policy Policy) []string {
	var keys []string
	for _, entry := range listing.Headless {
		if series.owns(entry) && policy.owns(entry) {
			keys = append(keys, ManifestKey(entry.Key))
		}
	}
	if policy.keepsAll() {
		return keys
	}
	ours := policy.Candidates(series, listing)
	kept := policy.kept(ours)
	for i, entry := range ours {
		if !kept[i] {
			keys = append(keys, entry.Key, ManifestKey(entry.Key))
		}
	}
	return keys
}

// Candidates returns the snapshots of the series that the policy applies to, newest first. It sorts by key and not by the
// manifest's time, because a user may have edited the manifest.
func (p Policy) Candidates(series Series, listing Listing) []Entry {
	var ours []Entry
	for _, entry := range listing.Snapshots {
		if series.owns(entry) && p.owns(entry) {
			ours = append(ours, entry)
		}
	}
	slices.SortFunc(ours, func(a, b Entry) int { return cmp.Compare(b.Key, a.Key) })
	return ours
}

// kept reports for each entry, newest first, whether a rule keeps it.
func (p Policy) kept(ours []Entry) []bool {
	kept := make([]bool, len(ours))
	for i := range min(max(p.MaxBackups, 1), len(ours)) {
		kept[i] = true
	}
	if good := slices.IndexFunc(ours, p.good); good >= 0 {
		kept[good] = true
	}
	for i, entry := range ours {
		if p.Within > 0 && timeOf(entry).After(p.Now.Add(-p.Within)) {
			kept[i] = true
		}
	}
	p.keepNewestOfEach(ours, kept, p.Hourly, func(t time.Time) int64 { return floor(t, time.Hour) })
	p.keepNewestOfEach(ours, kept, p.Daily, func(t time.Time) int64 { return floor(t, day) })
	// Day 0 of Unix time was a Thursday.
	p.keepNewestOfEach(ours, kept, p.Weekly, func(t time.Time) int64 { return floor(t.Add(3*day), 7*day) })
	p.keepNewestOfEach(ours, kept, p.Monthly, func(t time.Time) int64 { return int64(t.Year())*12 + int64(t.Month()) })
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
func (p Policy) keepNewestOfEach(ours []Entry, kept []bool, periods int, period func(time.Time) int64) {
	last, first := int64(0), true
	for i, entry := range ours {
		number := period(p.wall(timeOf(entry)))
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

// timeOf returns the time in the entry's key.
func timeOf(entry Entry) time.Time {
	key, _ := ParseKey(entry.Key)
	return key.Time
}

// good reports whether the snapshot has all confirmed writes and passed its restore test, if it had one.
func (p Policy) good(entry Entry) bool {
	return !entry.Manifest.NoQuorum && (p.Suspect == "" || entry.Key != p.Suspect)
}

func (p Policy) owns(entry Entry) bool {
	return p.Backup == "" || entry.Manifest.Backup == "" || entry.Manifest.Backup == p.Backup
}

// owns reports whether the entry belongs to the series, by its key and its manifest.
func (s Series) owns(entry Entry) bool {
	key, ok := ParseKey(entry.Key)
	return ok && key.Series == s && entry.Manifest.Cluster.ID == fmt.Sprintf("%016x", s.ClusterID)
}

// Written returns the keys that an EtcdBackup has written: those whose manifest has an Attempt that begins with mark. For
// each snapshot, the object comes before its manifest.
func Written(listing Listing, mark string) []string {
	var keys []string
	for _, entry := range slices.Concat(listing.Snapshots, listing.Headless) {
		if attempt := entry.Manifest.Attempt; mark != "" && len(attempt) > len(mark) && attempt[:len(mark)+1] == mark+"/" {
			keys = append(keys, entry.Key, ManifestKey(entry.Key))
		}
	}
	return keys
}

// Orphans returns the keys of objects that killed processes have left without a manifest. These are named like snapshots
// of the series, of any incarnation of the cluster, and were written before a time. That time must be long enough ago
// for an upload in progress to end. objects is the content of the series' folder.
func Orphans(series Series, objects []objstore.Object, before time.Time) []string {
	manifests := map[string]bool{}
	for _, object := range objects {
		if key, ok := ofManifest(object.Key); ok {
			manifests[key] = true
		}
	}
	var keys []string
	for _, object := range objects {
		key, ours := ParseKey(object.Key)
		key.ClusterID = series.ClusterID
		if ours && key.Series == series && !manifests[object.Key] && object.ModTime.Before(before) {
			keys = append(keys, object.Key)
		}
	}
	return keys
}

// Lives returns the prefix of the keys of all incarnations of the series' cluster. No other keys have this prefix.
func (s Series) Lives() string {
	prefix := s.Namespace + "/" + s.Cluster + "/"
	if s.Folder != "" {
		prefix = s.Folder + "/" + prefix
	}
	return prefix
}
