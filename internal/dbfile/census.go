package dbfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/maphash"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// census collects an Info from all pairs of a database.
type census struct {
	info Info
	hash hash.Hash32
	// live holds a 64-bit hash of each existing key, so that the memory does not depend on the keys' length. With ten
	// million keys, the probability of a collision is 1 in 370,000.
	live map[uint64]struct{}
	seed maphash.Seed
	// compacted is the revision of the last compaction. It is the minimum of the store's revision, even if the compaction
	// has deleted all keys of newer revisions.
	compacted int64
	alarms    map[string]bool
	hasMeta   bool
	most      int // number of keys
}

const (
	// bytesPerKey is what the set of keys needs for each of them, and while it grows.
	bytesPerKey = 22
	// shareOfPages is the divisor of the memory that the pages of a check may have.
	shareOfPages = 2
	// besideKeys is what a check needs besides its keys.
	besideKeys = 40 << 20
	// maxMembers is more than any cluster of etcd has.
	maxMembers = 1000
)

// maxKeys returns how many keys a check may count in a process with that memory limit (GOMEMLIMIT).
func maxKeys(memory int64) int { return int(max(memory-besideKeys, 0) / bytesPerKey) }

func (c *census) enter(bucket []byte) error {
	c.hasMeta = c.hasMeta || string(bucket) == "meta"
	_, err := c.hash.Write(bucket)
	return err
}

func (c *census) visit(bucket, key, value []byte) error {
	c.hash.Write(key)
	c.hash.Write(value)
	switch string(bucket) {
	case "key":
		return c.revision(key, value)
	case "meta":
		return c.setting(string(key), value)
	case "cluster":
		if string(key) == "clusterVersion" {
			c.info.ClusterVersion = versionText(value)
		}
	case "auth":
		c.users(string(key), value)
	case "alarm":
		if name := alarmOf(key); name != "" {
			c.alarms[name] = true
		}
	case "members":
		if id, err := strconv.ParseUint(string(key), 16, 64); err == nil {
			if len(c.info.MemberIDs) == maxMembers {
				return corrupt("it lists more than %d members", maxMembers)
			}
			c.info.MemberIDs = append(c.info.MemberIDs, id)
		}
	}
	return nil
}

// users reads a pair of the bucket "auth".
func (c *census) users(key string, value []byte) {
	switch {
	case key == "authRevision" && len(value) == 8:
		c.info.Auth.Revision = binary.BigEndian.Uint64(value)
	case key == "authEnabled":
		c.info.Auth.Enabled = auth.SwitchOf(bytes.Equal(value, []byte{1}))
	}
}

// setting reads a pair of the bucket "meta".
func (c *census) setting(key string, value []byte) error {
	switch key {
	case "storageVersion":
		c.info.StorageVersion = versionText(value)
	case "scheduledCompactRev", "finishedCompactRev":
		main, _, err := parseRevision(value)
		if err != nil {
			return err
		}
		c.compacted = max(c.compacted, main)
	}
	return nil
}

// revision reads a pair of the bucket "key": a revision, and the key and value that it wrote or the key that it deleted.
// The pairs are in ascending order of revisions.
func (c *census) revision(rev, value []byte) error {
	main, tombstone, err := parseRevision(rev)
	if err != nil {
		return err
	}
	c.info.Revision = max(c.info.Revision, main)
	key, err := keyOf(value)
	if err != nil {
		return corrupt("revision %d: %w", main, err)
	}
	id := maphash.Bytes(c.seed, key)
	switch {
	case tombstone:
		delete(c.live, id)
	case len(value) > 0: // a revision bump writes an empty value
		c.live[id] = struct{}{}
		if len(c.live) > c.most {
			return fmt.Errorf("%w: it has more than %d keys, and the check has no memory for more", ErrTooLarge, c.most)
		}
	}
	return nil
}

// parseRevision reads main (8 bytes, big endian), '_', sub (8 bytes), and 't' if the revision deleted its key.
func parseRevision(b []byte) (main int64, tombstone bool, err error) {
	tombstone = len(b) == 18 && b[17] == 't'
	if len(b) < 17 || b[8] != '_' || len(b) > 17 && !tombstone {
		return 0, false, corrupt("%x is not a revision", Short(b))
	}
	main = int64(binary.BigEndian.Uint64(b))
	if main < 0 {
		return 0, false, corrupt("revision %d is negative", main)
	}
	return main, tombstone, nil
}

// keyOf returns field 1 of an mvccpb.KeyValue, and checks that all fields are complete.
func keyOf(message []byte) (key []byte, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if number == 1 && kind == protowire.BytesType {
			key, _ = protowire.ConsumeBytes(message[n:])
		}
		message = message[n+size:]
	}
	return key, nil
}

// versionText returns value if it is a version of three numbers, and otherwise an empty string.
func versionText(value []byte) string {
	if len(value) > 32 {
		return ""
	}
	core, _, _ := strings.Cut(string(value), "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return ""
	}
	for _, part := range parts {
		if _, err := strconv.ParseUint(part, 10, 32); err != nil {
			return ""
		}
	}
	return string(value)
}

// alarmOf returns the name of the alarm in an etcdserverpb.AlarmMember: field 1 is the member, field 2 the alarm. It is empty for a fence of this
// suite (decision record 77), because that says nothing about the data.
func alarmOf(message []byte) string {
	name, member := "unknown", uint64(0)
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind != protowire.VarintType {
			break
		}
		value, m := protowire.ConsumeVarint(message[n:])
		if m < 0 {
			break
		}
		if text, known := etcdserverpb.AlarmType_name[int32(value)]; number == 2 && known { // an unknown number has no name
			name = text
		}
		if number == 1 {
			member = value
		}
		message = message[n+m:]
	}
	if name == etcdserverpb.AlarmType_CORRUPT.String() && (member>>32 == fenceMark || member>>40 == switchoverMark) {
		return ""
	}
	return name
}

// fenceMark is in the upper half of the member ID of a fence, "FENC", and switchoverMark is in the upper bits of that of a switchover, "SWO", as in internal/etcd.
const fenceMark, switchoverMark = 0x46454e43, 0x53574f

// Info is the content of a snapshot.
type Info struct {
	// Revision of the key-value store, without a bump; 0 if nothing was ever written.
	Revision int64
	// Keys that exist at that revision.
	Keys int64
	// Hash is the CRC-32 (Castagnoli) of all buckets. "etcdutl snapshot status" prints the same hash.
	Hash uint32
	// Size of the file in bytes, including the trailer.
	Size int64
	// StorageVersion is the etcd version of the database format, such as "3.6.0"; empty before etcd 3.6.
	StorageVersion string
	// ClusterVersion is the version that the members had agreed on, such as "3.5.0"; empty if the database does not
	// contain it.
	ClusterVersion string
	// MemberIDs of the cluster, in ascending order of their text. Two clusters have different member IDs, unless they were
	// created with the same token.
	MemberIDs []uint64
	// Auth is the state of authentication. Its revision is 0 if the database does not contain it.
	Auth auth.State
	// Alarms that were on, in alphabetical order, such as "CORRUPT, NOSPACE". It is empty if there was none.
	Alarms string
}
