package state

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// ReadSentence says what a seed has read from a volume. It is empty before, and for any other restore.
func ReadSentence(c v1beta2.ClusterRestoreStatus) string {
	if c.Volume == nil || c.Volume.Read == nil {
		return ""
	}
	return fmt.Sprintf("The seed has read PersistentVolumeClaim %s up to revision %d. %d entries were only in the write-ahead log.", c.Volume.ClaimName, c.Volume.Read.Revision, c.Volume.Read.LogEntries)
}

// LeftOutSentence says what of a write-ahead log is not restored, and what to do if it was acknowledged. It is empty if nothing was left out.
func LeftOutSentence(c v1beta2.ClusterRestoreStatus) string {
	if c.Volume == nil || c.Volume.Read == nil || c.Volume.Read.LeftOutEntries == 0 {
		return ""
	}
	read, writes := c.Volume.Read, "None of them writes a key."
	if read.FirstLeftOutRevision > 0 {
		writes = fmt.Sprintf("They may have written revision %d and later ones. If another member has its volume, its log may have them as committed.", read.FirstLeftOutRevision)
	}
	return fmt.Sprintf(" %d entries at the end of the write-ahead log are not restored, because no record says that a quorum has them. %s", read.LeftOutEntries, writes)
}
