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

// name is what a key says.
type name struct {
	timeline Timeline
	start    bool
	first    int64
}

// parseKey parses a key that StartKey or LinkKey has written. It returns false for any other.
func parseKey(root, key string) (name, bool) {
	rest, ok := strings.CutPrefix(key, root)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return name{}, false
	}
	number, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || number < 1 {
		return name{}, false
	}
	n := name{timeline: Timeline(number), start: len(parts) == 2}
	if n.start {
		return n, StartKey(root, n.timeline) == key
	}
	text, ok := strings.CutSuffix(parts[2], linkName)
	if n.first, err = strconv.ParseInt(text, 10, 64); err != nil || !ok || n.first < 1 {
		return name{}, false
	}
	day, err := time.Parse(dayLayout, parts[1])
	return n, err == nil && LinkKey(root, n.timeline, day, n.first) == key
}
