package state

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Writing is the attempt to write the keys, as far as it is known.
type Writing struct {
	Progress Progress
	// Conflicts are the keys that clients have written since the comparison, and First names some of them.
	Conflicts int64
	First     []string
	// Reason, Message and Final describe the failure if Progress is ProofFailed. Ended is when it failed.
	Reason, Message string
	Final           bool
	Ended           time.Time
}

// Differences counts the keys of a comparison in words.
func Differences(p v1beta2.PrefixesStatus) string {
	text := fmt.Sprintf("%d to create, %d to change, %d to delete; %d are the same", p.Created, p.Changed, p.Deleted, p.Unchanged)
	if p.Kept > 0 {
		text += fmt.Sprintf(", %d are not in the snapshot and are kept", p.Kept)
	}
	if p.Leased > 0 {
		text += fmt.Sprintf(", %d have a lease and are left as they are", p.Leased)
	}
	return text
}

// Safety is the attempt to save the old cluster.
type Safety struct {
	Progress Progress
	// Path and Revision of the snapshot, if Progress is ProofDone.
	Path     string
	Revision int64
	// Time is the SafetyOrder.Time of the attempt. The snapshot has every write that was acknowledged before it.
	Time time.Time
	// Message is why it failed, and Ended when, if Progress is ProofFailed. Refused is true if the store does not permit it. Others is true if it ended
	// only because of what other namespaces use or wait for.
	Message string
	Ended   time.Time
	Refused bool
	Others  bool
	// Lost is how long this attempt and those before it have waited for others, or were lost to them.
	Lost time.Duration
}

// Renewal is the attempt to replace the signed URL, as far as it is known.
type Renewal struct {
	Progress Progress
	// URL is the new status, also after a failure.
	URL v1beta2.SignedURLStatus
}

// Progress is the state of the reading of a source.
type Progress string

// Progresses. After a restart of the operator it is ProofNone too, and the source is read again.
const (
	ProofNone    Progress = ""
	ProofQueued  Progress = "Queued"
	ProofRunning Progress = "Running"
	ProofFailed  Progress = "Failed"
	ProofDone    Progress = "Done"
)

// Proof is the result of reading a source once and completely.
type Proof struct {
	Progress Progress
	// Percent of the bytes that have been read, while Progress is ProofRunning.
	Percent int32
	// Waits is for what the reading waits, and why. It is empty if it does not wait.
	Waits string
	// Asked and Choice are those of the Verify that started the reading.
	Asked  v1beta2.RestoreSource
	Choice source.Choice
	// Source that was read. ChosenBecause explains why it was chosen, and is empty if the spec names it.
	Source        v1beta2.RestoreSource
	ChosenBecause string
	// Snapshot that Source contains.
	Snapshot v1beta2.Snapshot
	// Point is what Snapshot was made of. It is nil for a snapshot of a cluster.
	Point *v1beta2.PointInTimeStatus
	// Base is the snapshot that the replay of a point began with, as it was read. It is empty for a snapshot of a cluster.
	Base v1beta2.Snapshot
	// Keys is the comparison of the keys below prefixes. It is nil if the whole cluster is restored.
	Keys *v1beta2.PrefixesStatus
	// Follow is the archive that a standby follows. It is nil for any other restore.
	Follow *v1beta2.RestoreFollowStatus
	// Format is the etcd version of the Snapshot's format. Its minor version decides which etcd can read it.
	Format string
	// SignedURL is how the seed reads Source. It is nil if the seed opens the store with the same Secret.
	SignedURL *v1beta2.SignedURLStatus
	// Reason (a constant of the API) and Message describe the failure if Progress is ProofFailed.
	Reason, Message string
	// Final is true if another attempt would fail the same way.
	Final bool
	// Ended is when the reading failed.
	Ended time.Time
}
