package snapshot

import (
	"cmp"
	"fmt"
	"slices"
)

// Policy says what to keep of a series.
type Policy struct {
	// MaxBackups to keep, the newest; 0 keeps all.
	MaxBackups int
}

// Retain says which keys to delete, in this order: of each snapshot the object and
// then its manifest, so that what is half deleted is seen as that. It names only
// keys of this very series whose manifest says the same, and of those never the
// last one.
func Retain(series Series, listing Listing, policy Policy) []string {
	var keys []string
	for _, entry := range listing.Headless {
		if series.owns(entry) {
			keys = append(keys, ManifestKey(entry.Key))
		}
	}
	if policy.MaxBackups < 1 {
		return keys
	}
	var ours []Entry
	for _, entry := range listing.Snapshots {
		if series.owns(entry) {
			ours = append(ours, entry)
		}
	}
	// By name and not by the manifest's time, so that an object whose manifest was
	// edited does not move.
	slices.SortFunc(ours, func(a, b Entry) int { return cmp.Compare(b.Key, a.Key) })
	for _, entry := range ours[min(policy.MaxBackups, len(ours)):] {
		keys = append(keys, entry.Key, ManifestKey(entry.Key))
	}
	return keys
}

// owns says whether the entry is one that a series of this name wrote.
func (s Series) owns(entry Entry) bool {
	key, ok := ParseKey(entry.Key)
	return ok && key.Series == s && entry.Manifest.Cluster.ID == fmt.Sprintf("%016x", s.ClusterID)
}
