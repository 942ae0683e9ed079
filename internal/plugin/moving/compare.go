package moving

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A Side is what one of the two clusters has at the last revision of the source.
type Side struct {
	Keys int64
	// Hash is that of etcd, of all revisions above Compacted. Two of them can be compared only if both have compacted the same.
	Hash      uint32
	Compacted int64
	// Digest is that of all present keys, with their values and revisions. It is empty until it is read, which takes as long as to read all keys.
	Digest string
}

// A Verdict is the result of a comparison.
type Verdict struct {
	// Text is what was compared; empty if the sides differ or if more must be read.
	Text string
	// Differs is how they differ.
	Differs string
	// MoreNeeded means that the hashes cannot be compared, so that all keys must be read.
	MoreNeeded bool
}

// Compare compares both sides. Versions of etcd differ in how they hash a compacted history, so only the keys themselves can show that the data differs.
func Compare(revision int64, source, target Side) Verdict {
	switch {
	case source.Keys != target.Keys:
		return Verdict{Differs: fmt.Sprintf("at revision %d the source has %d keys, and the new cluster has %d", revision, source.Keys, target.Keys)}
	case source.Compacted == target.Compacted && source.Hash == target.Hash:
		return Verdict{Text: fmt.Sprintf("At revision %d both sides have %d keys and the hash %08x.", revision, source.Keys, source.Hash)}
	case source.Digest == "" || target.Digest == "":
		return Verdict{MoreNeeded: true}
	case source.Digest != target.Digest:
		return Verdict{Differs: fmt.Sprintf("at revision %d both sides have %d keys, and some of them have other values or revisions", revision, source.Keys)}
	}
	return Verdict{Text: fmt.Sprintf("At revision %d both sides have %d keys with the same values and revisions.", revision, source.Keys)}
}

// Revision returns the last revision of the source, or how the statuses contradict each other.
func Revision(o Objects) (revision int64, differs string) {
	on, promoted := o.Backup.Status.Switchover, promotedOf(o.Restore)
	switch {
	case promoted == nil:
		return 0, "the status of the EtcdRestore names no revision"
	case on == nil || on.Phase != v1beta2.SwitchoverPromoted: // its operator has not seen it yet, or the EtcdBackup was created again
		return promoted.Revision, ""
	case on.Revision != promoted.Revision:
		return promoted.Revision, fmt.Sprintf("the source has ended with revision %d, and the standby has taken over with revision %d", on.Revision, promoted.Revision)
	case o.Restore.Status.RestoredRevision != 0 && o.Restore.Status.RestoredRevision != promoted.Revision:
		return promoted.Revision, fmt.Sprintf("the standby has taken over with revision %d, and the new cluster has begun with revision %d", promoted.Revision, o.Restore.Status.RestoredRevision)
	}
	return promoted.Revision, ""
}

// NothingToCompare says why nothing was compared after a person has cleaned up.
const NothingToCompare = "the new cluster serves. Nothing was compared, because the EtcdBackup of the source does not exist any more"

// NotCompared says why only the statuses were compared. A script that deletes the source must not take that for a success.
func NotCompared(o Objects, revision int64, why error) string {
	text := fmt.Sprintf("the new cluster serves, and both statuses name revision %d, but the keys were not compared: %v. Keep the source, and run the command again", revision, why)
	if o.Backup.Spec.EtcdCluster == nil {
		text += " with --via and the address by which this machine reaches the source"
	}
	return text
}

// Mismatch says what to do if both sides differ.
func Mismatch(differs string, o Objects) string {
	return fmt.Sprintf("the new cluster does not have the data of the source: %s. The new cluster serves, and the source refuses writes. Stop the applications that write, keep both clusters and EtcdBackup %s/%s, "+
		"compare the keys that matter to you in both, and report it with the output of kubectl etcd report %s", differs, o.Backup.Namespace, o.Backup.Name, o.Cluster.Name)
}
