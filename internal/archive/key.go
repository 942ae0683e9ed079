// Package archive implements the format of the continuous archive: every revision of a cluster's keys after a snapshot, in
// segments beside the snapshots. It encodes and decodes segments, lists them, and decides which of them a restore needs.
// It uses object stores, but neither etcd nor Kubernetes. See docs/adr/0049-a-continuous-archive-replayed-offline.md.
//
// A timeline is one history of one cluster. It begins with a start object and a base snapshot. Its links follow: segments
// with events, and gaps where events are lost. Each link holds the SHA-256 of the one before, so they form a chain. The
// key of a link follows from the link before, and a store never replaces an object. So only one archiver can extend a
// chain.
package archive

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
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

// Prefix returns the prefix of the keys of a timeline.
func (t Timeline) Prefix(root string) string { return fmt.Sprintf("%s%08d/", root, t) }

// StartKey returns the key of the start object of a timeline.
func StartKey(root string, t Timeline) string { return t.Prefix(root) + startName }

// LinkKey returns the key of the link that begins with the revision first. day is the end of the link before it, or the
// beginning of the timeline: two archivers that extend the same chain around midnight must write the same key.
func LinkKey(root string, t Timeline, day time.Time, first int64) string {
	return fmt.Sprintf("%s%s/%020d%s", t.Prefix(root), day.UTC().Format(dayLayout), first, linkName)
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

// InClass returns the name of an object that is in an archive class, or is not.
func (n Name) InClass(cold bool) Name {
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

// ParseKey parses a key that StartKey or LinkKey has written. It returns false for any other.
func ParseKey(root, key string) (Name, bool) {
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

// Before reports whether a name is later in the order of a listing, in which the start is the last one of its timeline.
func (n Name) Before(other Name) bool {
	switch {
	case n.timeline != other.timeline:
		return n.timeline < other.timeline
	case n.first == 0 || other.first == 0:
		return n.first != 0
	}
	return n.first < other.first
}

var (
	// ErrCorrupt means that an object of the archive is damaged, or not what its key says.
	ErrCorrupt error = objstore.ContentError("the archive is corrupt")
	// ErrNewerFormat means that a newer version of the suite wrote the object.
	ErrNewerFormat error = objstore.ContentError("the archive has a newer format")
)

// Point is a revision, and a time at which it had been received: all its changes were made before that time.
type Point struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
}

func (p Point) String() string {
	if p.At.IsZero() {
		return fmt.Sprintf("revision %d", p.Revision)
	}
	return fmt.Sprintf("revision %d (%s)", p.Revision, p.At.UTC().Format(time.RFC3339Nano))
}

// RevisionError is an error of the archive at one revision.
type RevisionError struct {
	Revision int64
	Key      string // of the object in the store; may be empty
	Err      error
}

func (e *RevisionError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("revision %d: %v", e.Revision, e.Err)
	}
	return fmt.Sprintf("revision %d in %s: %v", e.Revision, e.Key, e.Err)
}

func (e *RevisionError) Unwrap() error { return e.Err }

// corruptAt returns ErrCorrupt at a revision.
func corruptAt(revision int64, key, format string, args ...any) error {
	return &RevisionError{Revision: revision, Key: key, Err: fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))}
}

// Proof is the object that records the result of a proof: whether the archive leads from one snapshot to a later one. It is beside the archive,
// so that it outlives the status that reports it. Its name has the result, so that one listing returns all. Readers ignore unknown fields.
type Proof struct {
	FormatVersion int `json:"formatVersion"`
	ProofName
	// FromKey and ToKey are the keys of the two snapshots.
	FromKey  string    `json:"fromKey"`
	ToKey    string    `json:"toKey"`
	Time     time.Time `json:"time"`
	Segments int       `json:"segments,omitempty"`
	// Backup is the name of the EtcdBackup that has proven it, and Tool its operator with the version.
	Backup  string          `json:"backup,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Message bounded.Message `json:"message,omitempty"`
	// Unreturned are the keys of segments that the store lists and does not return, as far as proofs have found them. They are in parts that this
	// proof does not have.
	Unreturned []string `json:"unreturned,omitempty"`
}

// ProofName is what the name of a proof says.
type ProofName struct {
	Timeline Timeline `json:"timeline"`
	// From and To are the revisions of the two snapshots.
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Failed bool  `json:"failed,omitempty"`
}

// The names of proofs. ProofFolder is beside the timelines.
const (
	ProofFolder = "proofs/"
	proofFormat = "%08d-%020d-%020d.%s"
	proofPassed = "proof-passed"
	ProofFailed = "proof-failed"
)

// Key returns the key of the proof. Listings of links do not count it.
func (n ProofName) Key(root string) string {
	result := proofPassed
	if n.Failed {
		result = ProofFailed
	}
	return root + ProofFolder + fmt.Sprintf(proofFormat, n.Timeline, n.From, n.To, result)
}

// CheckRoot returns what is wrong with the root of an archive: the longest names in it, which are those of proofs, must fit into a store.
func CheckRoot(root string) error {
	if n := len(ProofName{}.Key(root)); n > objstore.MaxName {
		return fmt.Errorf("an object of the continuous archive would have a key of %d bytes: at most %d are allowed", n, objstore.MaxName)
	}
	return nil
}
