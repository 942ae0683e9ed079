package snapshot

import (
	"fmt"
	"strconv"
	"strings"
)

// minor is a version without its patch: the format of a database changes with
// minors only.
type minor struct{ major, minor uint64 }

func (m minor) newerThan(other minor) bool {
	return m.major > other.major || m.major == other.major && m.minor > other.minor
}

// versioned is the first minor whose databases say which version they are of.
var versioned = minor{3, 6}

// Format is the version that decides which etcd can read the snapshot. A database
// without a storage version is of etcd 3.5 or older, whatever the member was: in
// the midst of an upgrade a newer one keeps the older format.
func (m Manifest) Format() string {
	if m.StorageVersion != "" {
		return m.StorageVersion
	}
	if v, ok := parseMinor(m.EtcdVersion); ok && versioned.newerThan(v) {
		return m.EtcdVersion
	}
	return "3.5.0"
}

// Compatible says whether etcd of version target can start from a snapshot of the
// format snapshotVersion: its minor must not be older. etcd reads older formats
// and not newer ones. An unknown version of the snapshot is one before 3.6, which
// did not say.
func Compatible(snapshotVersion, target string) error {
	want, ok := parseMinor(target)
	if !ok {
		return fmt.Errorf("etcd version %q is not understood: write it as 3.6.1", target)
	}
	have, ok := parseMinor(snapshotVersion)
	if snapshotVersion == "" {
		have, ok = minor{}, true
	}
	if !ok {
		return fmt.Errorf("version %q of the snapshot is not understood", snapshotVersion)
	}
	if have.newerThan(want) {
		return fmt.Errorf("snapshot has the format of etcd %d.%d, which etcd %s cannot read: use %d.%d or newer",
			have.major, have.minor, target, have.major, have.minor)
	}
	return nil
}

func parseMinor(version string) (minor, bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return minor{}, false
	}
	major, err1 := strconv.ParseUint(parts[0], 10, 16)
	second, err2 := strconv.ParseUint(parts[1], 10, 16)
	return minor{major, second}, err1 == nil && err2 == nil
}
