package snapshot

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// versioned is the first version whose databases hold a storage version. Only minor versions change the format of a database.
var versioned = etcdversion.MustParse("3.6.0")

// Format returns the etcd version of the database format, which decides which versions of etcd can read the snapshot. A
// database without a storage version has the format of etcd 3.5 or older, even if the member is newer: during an upgrade
// a newer member keeps the older format.
func (m Manifest) Format() string {
	if m.StorageVersion != "" {
		return m.StorageVersion
	}
	if v, ok := etcdversion.ParseMinor(m.EtcdVersion); ok && v.CompareMinor(versioned) < 0 {
		return m.EtcdVersion
	}
	return "3.5.0"
}

// Compatible returns nil if etcd of version target can start from a snapshot of the format snapshotVersion. etcd reads
// older formats, but not newer ones. An empty snapshotVersion is a format before 3.6.
func Compatible(snapshotVersion, target string) error {
	want, ok := etcdversion.ParseMinor(target)
	if !ok {
		return fmt.Errorf("invalid etcd version %q: write a version such as 3.6.1", target)
	}
	have, ok := etcdversion.ParseMinor(snapshotVersion)
	if snapshotVersion == "" {
		ok = true // the zero value is older than each
	}
	if !ok {
		return fmt.Errorf("the snapshot has an invalid version %q", snapshotVersion)
	}
	if have.CompareMinor(want) > 0 {
		return fmt.Errorf("the snapshot has the format of etcd %s, which etcd %s cannot read: use etcd %s or newer",
			have.Minor(), target, have.Minor())
	}
	return nil
}
