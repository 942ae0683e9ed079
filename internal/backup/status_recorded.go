package backup

import (
	"cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// asRecorded returns a snapshot of a series with the SHA-256 and the signer that the status recorded when it was saved. A user who can write to the
// bucket can replace a snapshot together with its manifest, so the manifest may be another one since then.
func asRecorded(status v1beta2.EtcdBackupStatus, s v1beta2.Snapshot) v1beta2.Snapshot {
	recorded := status.Snapshots
	if status.Snapshot != nil {
		recorded = append([]v1beta2.Snapshot{*status.Snapshot}, recorded...)
	}
	for _, earlier := range recorded {
		if earlier.Path == s.Path && earlier.SHA256 != "" {
			s.SHA256, s.SignedBy = earlier.SHA256, cmp.Or(earlier.SignedBy, s.SignedBy)
			break
		}
	}
	return s
}

func allAsRecorded(status v1beta2.EtcdBackupStatus, snapshots []v1beta2.Snapshot) []v1beta2.Snapshot {
	var out []v1beta2.Snapshot
	for _, s := range snapshots {
		out = append(out, asRecorded(status, s))
	}
	return out
}
