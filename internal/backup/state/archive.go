package state

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// Archive is what the archiver of this process reports about one EtcdBackup.
type Archive struct {
	// Begun is true once the archiver has found where the archive ends, and watches the cluster. Idle is since when it is not true; zero
	// while it is.
	Begun bool
	Idle  time.Time
	// Want is why a base snapshot is needed now. It is empty if none is.
	Want string
	// Ranges that can be restored. Surveyed is false until they are known.
	Ranges   []archive.Range
	Surveyed bool
	// Shown is the end of the last range that the status shows while the archiver runs, so that the status is not written for each segment. Zero means
	// the end of the range.
	Shown archive.Point
	// Covered is false if no base reaches the newest revision.
	Covered bool
	// Delayed is how old the oldest change may be that is not in the store. It is 0 if that is not longer than it should be.
	// StoreError is why.
	Delayed    time.Duration
	StoreError string
	// Replace is when the operator replaces the newest snapshot, because it failed its restore test; zero if it did not.
	Replace time.Time
	// Failures in a row, the last one, and when the archiver starts again. Failure is nil while the archiver runs.
	Failures int32
	Failure  *Failure
	RetryAt  time.Time
	// Unread is why the last look at the archive failed. It is empty if that succeeded.
	Unread string
	// Unpruned is why old parts of the archive were not deleted. Advice is about the version of etcd.
	Unpruned, Advice string
	// Corrupt is true if Unread names a damaged or missing object, so that Ranges may be wrong.
	Corrupt bool
	// Holes names the parts of the archive that cannot be restored although they were archived. Ranges has none of them.
	Holes string
	// Switchover is how far the switchover of Spec is; nil before its first step.
	Switchover *Switchover
	// Proof is the last proof that the store has: one that has failed, or else the newest one. It is nil if there is none.
	Proof *v1beta2.ArchiveProof
}

// Switchover is what the archiver of this process reports about a switchover.
type Switchover struct {
	ID       string
	Phase    v1beta2.SwitchoverPhase
	Timeline int64
	// Revision is the last one of the cluster; 0 until etcd refuses writes.
	Revision int64
	// Promoted is the standby that has become the cluster.
	Promoted string
	// Off is true once the switchover was called off, and etcd takes writes again.
	Off bool
	// Waits says what the next step waits for. It is empty if that is no problem.
	Waits string
}

// ArchiveCopy is what this process reports about the copy of an archive in the second location.
type ArchiveCopy struct {
	// Begun is true once all that the first location had was copied. Idle is since when that is not so; zero while it is.
	Begun bool
	Idle  time.Time
	// Ranges that can be restored from the second location. Surveyed is false until they are known. Covered is false if no snapshot there reaches the
	// newest copied revision.
	Ranges            []archive.Range
	Surveyed, Covered bool
	// Delayed is how old the oldest change may be that is not in the second location. It is 0 if that is not longer than it should be.
	Delayed time.Duration
	// Failures in a row, the last one, and when the operator tries again. Failure is nil after a success.
	Failures int32
	Failure  *Failure
	RetryAt  time.Time
	// Lacking names what the first location does not return. Unread is why the last look at the second location failed. Unpruned is why old parts were
	// not deleted there. Each is empty if there is nothing to report.
	Lacking, Unread, Unpruned string
}

const (

	// FailuresTolerated is the number of failures in a row that are reported. One failure is usual when members restart.
	FailuresTolerated = 2
	// ArchivePatience is how long an archiver may not archive before that is reported, however few failures it had.
	ArchivePatience = time.Minute
)
