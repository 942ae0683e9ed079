package restore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// minor is a version without its patch: a database's format changes with minors only.
type minor struct{ Major, Minor int }

func (m minor) String() string { return fmt.Sprintf("%d.%d", m.Major, m.Minor) }

func (m minor) newerThan(other minor) bool {
	return m.Major > other.Major || m.Major == other.Major && m.Minor > other.Minor
}

// storageVersions: from this minor on a database says which version wrote it.
var storageVersions = minor{3, 6}

func minorOf(version string) (minor, bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return minor{}, false
	}
	major, err1 := strconv.Atoi(parts[0])
	second, err2 := strconv.Atoi(parts[1])
	return minor{major, second}, err1 == nil && err2 == nil
}

// formatOf is the etcd minor whose format a snapshot has, as far as it says. A database without a storage version
// was written for 3.5 or older, whatever the version of the member was: in the midst of an upgrade a member of
// 3.6 keeps the older format.
func formatOf(snapshot v1beta2.Snapshot) (minor, bool) {
	if format, ok := minorOf(snapshot.StorageVersion); ok {
		return format, true
	}
	format, ok := minorOf(snapshot.EtcdVersion)
	if ok && !storageVersions.newerThan(format) {
		return minor{storageVersions.Major, storageVersions.Minor - 1}, true
	}
	return format, ok
}

// tooNew says why the cluster's etcd could not read the snapshot, nil where it can or there is no cluster yet.
func (s State) tooNew(snapshot v1beta2.Snapshot) Step {
	if s.Cluster == nil {
		return nil
	}
	version := s.Cluster.Spec.EtcdVersion()
	target, ok := minorOf(version)
	format, known := formatOf(snapshot)
	if !ok || !known || !format.newerThan(target) {
		return nil
	}
	return Fail{Reason: v1beta2.ReasonSnapshotTooNew, Message: fmt.Sprintf(
		"snapshot %s was written by etcd %s and EtcdCluster %s runs %s, which cannot read it: set its spec.version to %s or newer, then make another EtcdRestore",
		snapshot.Path, format, s.Cluster.Name, version, format)}
}
