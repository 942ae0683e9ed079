package snapshot

import (
	"fmt"
	"strconv"
	"strings"
)

// minor is a version without its patch level: only minor versions change the format of a database.
type minor struct{ major, minor uint64 }

func (m minor) newerThan(other minor) bool {
	return m.major > other.major || m.major == other.major && m.minor > other.minor
}

// versioned is the first minor version whose databases hold a storage version.
var versioned = minor{3, 6}

// Format returns the etcd version of the database format, which decides which versions of etcd can read the snapshot. A
// database without a storage version has the format of etcd 3.5 or older, even if the member is newer: during an upgrade
// a newer member keeps the older format.
func (m Manifest) Format() string {
	if m.StorageVersion != "" {
		return m.StorageVersion
	}
	if v, ok := parseMinor(m.EtcdVersion); ok && versioned.newerThan(v) {
		return m.EtcdVersion
	}
	return "3.5.0"
}

// Compatible returns nil if etcd of version target can start from a snapshot of the format snapshotVersion. etcd reads
// older formats, but not newer ones. An empty snapshotVersion is a format before 3.6.
func Compatible(snapshotVersion, target string) error {
	want, ok := parseMinor(target)
	if !ok {
		return fmt.Errorf("invalid etcd version %q: write a version such as 3.6.1", target)
	}
	have, ok := parseMinor(snapshotVersion)
	if snapshotVersion == "" {
		have, ok = minor{}, true
	}
	if !ok {
		return fmt.Errorf("the snapshot has an invalid version %q", snapshotVersion)
	}
	if have.newerThan(want) {
		return fmt.Errorf("the snapshot has the format of etcd %d.%d, which etcd %s cannot read: use etcd %d.%d or newer",
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
