package snapshot

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxKey is the longest key that S3 and GCS take, in bytes.
const maxKey = 1024

const (
	manifestSuffix = ".json"
	snapshotSuffix = ".db"
	timeLayout     = "20060102T150405Z"
)

// Series names the snapshots of one life of one cluster. A cluster that is made
// anew, or restored, has another ID and so another series: what is retired here
// never touches what was saved there.
type Series struct {
	Folder    string // may be empty
	Namespace string
	Cluster   string
	ClusterID uint64
}

// Prefix is what all keys of the series begin with, and no other keys.
func (s Series) Prefix() string {
	prefix := fmt.Sprintf("%s/%s/%016x/", s.Namespace, s.Cluster, s.ClusterID)
	if s.Folder != "" {
		prefix = s.Folder + "/" + prefix
	}
	return prefix
}

// Key of a plain snapshot is <folder>/<namespace>/<cluster>/<cluster ID>/<UTC time>-<revision>.db, of
// which the byte order is the order of time. Time comes first, since a revision
// goes back in a restore. The revision is what the cluster had just before: the
// exact one is known only when the snapshot has been read, and is in the manifest.
func (s Series) Key(at time.Time, revision int64) string {
	return s.EncodedKey(at, revision, Encoding{})
}

// EncodedKey is Key with what the object is behind it: ".db.zst", ".db.age" or
// ".db.zst.age".
func (s Series) EncodedKey(at time.Time, revision int64, e Encoding) string {
	return fmt.Sprintf("%s%s-%020d%s%s", s.Prefix(), at.UTC().Format(timeLayout), revision, snapshotSuffix, e.Suffix())
}

// SeriesKey is a key taken apart.
type SeriesKey struct {
	Series
	Time     time.Time
	Revision int64
	Encoding Encoding
}

// ParseKey takes a key of a series apart. It takes nothing but what
// Series.EncodedKey writes: of any other name false is returned, and it is not ours.
func ParseKey(key string) (SeriesKey, bool) {
	segments := strings.Split(key, "/")
	if len(segments) < 4 || CheckKey(key) != nil {
		return SeriesKey{}, false
	}
	last := segments[len(segments)-4:]
	id, err := strconv.ParseUint(last[2], 16, 64)
	if err != nil {
		return SeriesKey{}, false
	}
	name, suffix, _ := strings.Cut(last[3], snapshotSuffix)
	of := slices.IndexFunc(encodings, func(e Encoding) bool { return e.Suffix() == suffix })
	if of < 0 {
		return SeriesKey{}, false
	}
	stamp, revision, _ := strings.Cut(name, "-")
	at, err := time.Parse(timeLayout, stamp)
	if err != nil {
		return SeriesKey{}, false
	}
	number, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || number < 0 {
		return SeriesKey{}, false
	}
	parsed := SeriesKey{
		Series: Series{
			Folder:    strings.Join(segments[:len(segments)-4], "/"),
			Namespace: last[0], Cluster: last[1], ClusterID: id,
		},
		Time: at, Revision: number, Encoding: encodings[of],
	}
	// Numbers can be written in more than one way; only one of them is ours.
	return parsed, parsed.EncodedKey(at, number, parsed.Encoding) == key
}

// ManifestKey is the key of the manifest of the snapshot under key.
func ManifestKey(key string) string { return key + manifestSuffix }

// ofManifest is the inverse of ManifestKey.
func ofManifest(key string) (string, bool) { return strings.CutSuffix(key, manifestSuffix) }

// CheckKey says what is wrong with the key of a snapshot. It is meant for keys
// that users write: whatever they wrote is taken literally, or refused.
func CheckKey(key string) error {
	switch {
	case !utf8.ValidString(key):
		return errors.New("key is not valid UTF-8")
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("key %q holds a control character", key)
	case len(ManifestKey(key)) > maxKey:
		return fmt.Errorf("key has %d bytes: at most %d are possible", len(key), maxKey-len(manifestSuffix))
	case strings.HasSuffix(key, manifestSuffix):
		return fmt.Errorf("key %q ends in %q, as only manifests do", key, manifestSuffix)
	case key == "" || path.Clean("/"+key) != "/"+key:
		return fmt.Errorf("key %q has an empty, \".\" or \"..\" part, or a slash at an end", key)
	}
	return nil
}
