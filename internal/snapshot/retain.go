package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Policy says what to keep of a series. A snapshot is kept where any of its rules
// keeps it, and all are kept where it has no rule.
type Policy struct {
	// MaxBackups to keep, the newest; 0 is no rule.
	MaxBackups int
	// Within keeps all that are not older than this at Now; 0 is no rule.
	Within time.Duration
	Now    time.Time
	// Hourly keeps the newest snapshot of each of the last so many hours that have
	// one, and Daily, Weekly (from Monday) and Monthly likewise; 0 is no rule.
	Hourly, Daily, Weekly, Monthly int
	// Zone of the hours, days, weeks and months; nil is UTC.
	Zone *time.Location
	// Backup is whose snapshots may go: those that carry this name, or none. Empty
	// is everybody's.
	Backup string
	// Suspect is the key of a snapshot that was found not to restore. It counts as
	// no good one.
	Suspect string
}

func (p Policy) keepsAll() bool {
	return p.MaxBackups < 1 && p.Within <= 0 && p.Hourly < 1 && p.Daily < 1 && p.Weekly < 1 && p.Monthly < 1
}

// Retain says which keys to delete, in this order: of each snapshot the object and
// then its manifest, so that what is half deleted is seen as that. It names only
// keys of this very series whose manifest says the same, and of those never the
// newest one, nor the newest that is good.
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

// Candidates are the snapshots of the series that the policy speaks of, newest
// first: by name and not by the manifest's time, so that an object whose manifest
// was edited does not move.
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

// kept says of each entry, newest first, whether a rule keeps it.
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
	// The day 0 was a Thursday.
	p.keepNewestOfEach(ours, kept, p.Weekly, func(t time.Time) int64 { return floor(t.Add(3*day), 7*day) })
	p.keepNewestOfEach(ours, kept, p.Monthly, func(t time.Time) int64 { return int64(t.Year())*12 + int64(t.Month()) })
	return kept
}

const day = 24 * time.Hour

// floor numbers the hours, days or weeks of a time that wall has made.
func floor(t time.Time, unit time.Duration) int64 {
	seconds, size := t.Unix(), int64(unit/time.Second)
	if seconds < 0 {
		seconds -= size - 1
	}
	return seconds / size
}

// keepNewestOfEach keeps the newest of the last so many periods that have one.
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

// wall is what a clock on the wall of the policy's zone shows, as if it were UTC.
func (p Policy) wall(t time.Time) time.Time {
	if p.Zone == nil {
		return t
	}
	_, offset := t.In(p.Zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// timeOf is the time in the entry's name, which is one of a series.
func timeOf(entry Entry) time.Time {
	key, _ := ParseKey(entry.Key)
	return key.Time
}

// good says whether a cluster could be restored to what it had confirmed.
func (p Policy) good(entry Entry) bool {
	return !entry.Manifest.NoQuorum && (p.Suspect == "" || entry.Key != p.Suspect)
}

func (p Policy) owns(entry Entry) bool {
	return p.Backup == "" || entry.Manifest.Backup == "" || entry.Manifest.Backup == p.Backup
}

// owns says whether the entry is one that a series of this name wrote.
func (s Series) owns(entry Entry) bool {
	key, ok := ParseKey(entry.Key)
	return ok && key.Series == s && entry.Manifest.Cluster.ID == fmt.Sprintf("%016x", s.ClusterID)
}

// Written says which keys an EtcdBackup wrote, by the Attempt in the manifests,
// which begins with its mark: of each snapshot the object and then its manifest.
func Written(listing Listing, mark string) []string {
	var keys []string
	for _, entry := range slices.Concat(listing.Snapshots, listing.Headless) {
		if attempt := entry.Manifest.Attempt; mark != "" && len(attempt) > len(mark) && attempt[:len(mark)+1] == mark+"/" {
			keys = append(keys, entry.Key, ManifestKey(entry.Key))
		}
	}
	return keys
}

// Orphans says which objects of a series a killed process left without a manifest:
// those that are named like its snapshots, of any life of the cluster, and are
// older than a time. objects are all that lie under the series' folder; one that
// is being saved just now has its manifest long before it is old.
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

// Lives is what the keys of all lives of the series' cluster begin with, and no
// other keys.
func (s Series) Lives() string {
	prefix := s.Namespace + "/" + s.Cluster + "/"
	if s.Folder != "" {
		prefix = s.Folder + "/" + prefix
	}
	return prefix
}
