package snapshot

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// maxKey is the maximum length of a key in S3 and GCS, in bytes.
const maxKey = objstore.MaxName

const (
	manifestSuffix = ".json"
	snapshotSuffix = ".db"
	timeLayout     = "20060102T150405Z"
)

// SafetyFolder is the folder of safety snapshots, below any other folder. A restore that chooses the newest snapshot does
// not look into it, unless it begins there: a safety snapshot has the data that a person has just replaced.
const SafetyFolder = "safety-snapshots"

// IsSafety reports whether a key below a prefix is in a folder of safety snapshots that the prefix does not contain.
func IsSafety(prefix, key string) bool {
	return strings.Contains("/"+strings.TrimPrefix(key, prefix), "/"+SafetyFolder+"/")
}

// Series identifies the snapshots of one incarnation of a cluster. A recreated or restored cluster has a new cluster ID
// and so a new series: retention in one series never deletes snapshots of another.
type Series struct {
	Folder    string // may be empty
	Namespace string
	Cluster   string
	ClusterID uint64
}

// Prefix returns the prefix of all keys of the series. No other keys have this prefix.
func (s Series) Prefix() string {
	prefix := fmt.Sprintf("%s/%s/%016x/", s.Namespace, s.Cluster, s.ClusterID)
	if s.Folder != "" {
		prefix = s.Folder + "/" + prefix
	}
	return prefix
}

// Key returns the key of a plain snapshot: <folder>/<namespace>/<cluster>/<cluster ID>/<UTC time>-<revision>.db.
// The byte order of keys is the order of time. Time comes before the revision, because a restore may decrease the
// revision. The revision is the cluster's just before the snapshot; the exact one is in the manifest.
func (s Series) Key(at time.Time, revision int64) string {
	return s.EncodedKey(at, revision, codec.Encoding{})
}

// EncodedKey is Key with the suffix of an encoding: ".db.zst", ".db.age" or ".db.zst.age".
func (s Series) EncodedKey(at time.Time, revision int64, e codec.Encoding) string {
	return fmt.Sprintf("%s%s-%020d%s%s", s.Prefix(), at.UTC().Format(timeLayout), revision, snapshotSuffix, e.Suffix())
}

// SeriesKey holds the parts of a key.
type SeriesKey struct {
	Series
	Time     time.Time
	Revision int64
	Encoding codec.Encoding
}

// ParseKey parses a key that Series.EncodedKey has written. It returns false for any other name.
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
	encoding, known := codec.ParseSuffix(suffix)
	if !known {
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
		Time: at, Revision: number, Encoding: encoding,
	}
	// A number has several spellings, but EncodedKey writes only one of them.
	return parsed, parsed.EncodedKey(at, number, parsed.Encoding) == key
}

// ManifestKey returns the key of the manifest of the snapshot under key.
func ManifestKey(key string) string { return key + manifestSuffix }

// OfManifest is the inverse of ManifestKey.
func OfManifest(key string) (string, bool) { return strings.CutSuffix(key, manifestSuffix) }

// CheckKey returns what is wrong with the key of a snapshot. It is meant for keys that users write: a valid key is used
// literally.
func CheckKey(key string) error {
	switch {
	case !utf8.ValidString(key):
		return errors.New("key is not valid UTF-8")
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("key %q contains a control character", key)
	case len(ManifestKey(key)) > maxKey:
		return fmt.Errorf("key has %d bytes: at most %d are allowed", len(key), maxKey-len(manifestSuffix))
	case strings.HasSuffix(key, manifestSuffix):
		return fmt.Errorf("key %q ends in %q, which is reserved for manifests", key, manifestSuffix)
	case key == "" || path.Clean("/"+key) != "/"+key:
		return fmt.Errorf("key %q has an empty, \".\" or \"..\" part, or begins or ends with a slash", key)
	}
	return nil
}

// Lives returns the prefix of the keys of all incarnations of the series' cluster. No other keys have this prefix.
func (s Series) Lives() string {
	prefix := s.Namespace + "/" + s.Cluster + "/"
	if s.Folder != "" {
		prefix = s.Folder + "/" + prefix
	}
	return prefix
}
