package archive

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// rootFolder is the first part of all keys of archives. Listings of snapshots never begin with it, so they read no segment.
const rootFolder = "continuous-archive"

const (
	startName = "start"
	linkName  = ".segment"
	dayLayout = "20060102"
)

// Root returns the prefix of all keys of one cluster's archive. folder may be empty.
func Root(folder, namespace, cluster string) string {
	if folder != "" {
		folder += "/"
	}
	return rootFolder + "/" + folder + namespace + "/" + cluster + "/"
}

// IsKey reports whether a key is in the folder of archives.
func IsKey(key string) bool { return strings.HasPrefix(key, rootFolder+"/") }

// Timeline is the number of a timeline, from 1.
type Timeline int64

func (t Timeline) prefix(root string) string { return fmt.Sprintf("%s%08d/", root, t) }

// StartKey returns the key of the start object of a timeline.
func StartKey(root string, t Timeline) string { return t.prefix(root) + startName }

// LinkKey returns the key of the link that begins with the revision first. day is the end of the link before it, or the
// beginning of the timeline: two archivers that extend the same chain around midnight must write the same key.
func LinkKey(root string, t Timeline, day time.Time, first int64) string {
	return fmt.Sprintf("%s%s/%020d%s", t.prefix(root), day.UTC().Format(dayLayout), first, linkName)
}

// Name is an object of an archive, as its key names it. It takes 24 bytes, so that millions of them fit into memory.
type Name struct {
	timeline Timeline
	first    int64 // revision of a link; 0 for a start
	day      int32 // of a link, since 1970
	cold     bool  // nothing can be read from its storage class
}

// Key returns the key of the object.
func (n Name) Key(root string) string {
	if n.first == 0 {
		return StartKey(root, n.timeline)
	}
	return LinkKey(root, n.timeline, time.Unix(int64(n.day)*secondsOfDay, 0), n.first)
}

// Timeline of the object.
func (n Name) Timeline() Timeline { return n.timeline }

// First is the first revision of a link, and 0 for a start.
func (n Name) First() int64 { return n.first }

// Cold reports whether nothing can be read from the storage class that the listing names.
func (n Name) Cold() bool { return n.cold }

// in returns the name of an object that is in an archive class, or is not.
func (n Name) in(cold bool) Name {
	n.cold = cold
	return n
}

// is reports whether both name the same object.
func (n Name) is(other Name) bool {
	return n.timeline == other.timeline && n.first == other.first && n.day == other.day
}

func isCold(n Name) bool { return n.cold }

const secondsOfDay = 24 * 60 * 60

// NameOf returns the name that LinkKey makes a key of.
func NameOf(t Timeline, day time.Time, first int64) Name {
	return Name{timeline: t, first: first, day: int32(day.UTC().Truncate(secondsOfDay*time.Second).Unix() / secondsOfDay)} // a year has four digits
}

// parseKey parses a key that StartKey or LinkKey has written. It returns false for any other.
func parseKey(root, key string) (Name, bool) {
	rest, ok := strings.CutPrefix(key, root)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return Name{}, false
	}
	number, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || number < 1 {
		return Name{}, false
	}
	t := Timeline(number)
	if len(parts) == 2 {
		return Name{timeline: t}, StartKey(root, t) == key
	}
	text, ok := strings.CutSuffix(parts[2], linkName)
	first, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !ok || first < 1 {
		return Name{}, false
	}
	day, err := time.Parse(dayLayout, parts[1])
	n := NameOf(t, day, first)
	return n, err == nil && n.Key(root) == key
}

func keysIn(root string, names []Name) []string {
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = n.Key(root)
	}
	return keys
}
