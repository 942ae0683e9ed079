package state

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Kind of an attempt.
type Kind string

// An attempt takes a snapshot, runs a restore test, deletes all snapshots of the EtcdBackup, deletes those that retention
// does not keep, or copies snapshots to the second location.
const (
	KindSnapshot Kind = ""
	KindDrill    Kind = "drill"
	KindPurge    Kind = "purge"
	KindPrune    Kind = "prune"
	KindCopy     Kind = "copy"
)

// KindArchive is the Kind in messages about archivers. No attempt has it.
const KindArchive Kind = "archive"

// KindArchiveCopy is the Kind in messages about the copy of an archive. No attempt has it.
const KindArchiveCopy Kind = "archive-copy"

// StageQueued is the stage of an attempt that waits for a worker.
const StageQueued = "queued"

// Attempt is one attempt to do what its Kind says.
type Attempt struct {
	Kind Kind
	// Request that it was started for, see State. Base is the reason if the archiver has asked for it.
	Request, Base string
	// Generation of the spec that it was started for.
	Generation int64
	// Number counts the attempts at the snapshot that is due, from 1.
	Number    int32
	StartedAt time.Time
	// Queued is true while it waits for a worker. Progress while it runs.
	Queued   bool
	Progress Progress
	// Result is nil while it runs.
	Result *Result
}

// Progress of an attempt.
type Progress struct {
	// Stage in words, for example "streaming from http://10.0.0.1:2379". It is empty while the attempt waits for a worker.
	Stage string
	// Why it waits, if it does.
	Why turns.Reason
	// Bytes that were processed, of about that many.
	Bytes, About int64
	// PerSecond is the average since the stage started, in bytes per second. It is 0 in the first second.
	PerSecond int64
}

// Result is how an attempt ended.
type Result struct {
	EndedAt time.Time
	// Snapshot is the newest verified one. It is nil if the attempt failed.
	Snapshot *v1beta2.Snapshot
	// Found is true if the snapshot existed before the attempt, which took none.
	Found bool
	// Failure is nil if the attempt succeeded.
	Failure *Failure
	// Kept are the newest snapshots of the series that are kept.
	Kept []v1beta2.Snapshot
	// Pruned is how many old snapshots were deleted. PruneProblem is why others were not. It does not fail the attempt.
	Pruned       int
	PruneProblem string
	PruneReason  string
	// Missing is how many snapshots are still to be copied to the second location. CopyProblem is why older ones could not be copied.
	Missing     int
	CopyProblem string
	// Drill is the result of a restore test. It is nil if there was none.
	Drill *v1beta2.BackupDrill
	// Proof is the result of a proof of the archive. It is nil if there was none.
	Proof *v1beta2.ArchiveProof
	// Untested is when the snapshot was taken whose restore test could not be carried out. It is zero if there is none.
	Untested time.Time
}

// String describes the progress in one sentence.
func (p Progress) String() string {
	const mib = 1 << 20
	switch {
	case p.Stage == "" && p.Why != turns.None:
		return fmt.Sprintf("The attempt is queued for a worker of the operator: %s.", p.Why)
	case p.Stage == "":
		return "The attempt is queued. It starts when a worker of the operator is free."
	case p.Why != turns.None:
		return fmt.Sprintf("The operator is %s: %s.", p.Stage, p.Why)
	case p.Bytes == 0:
		return fmt.Sprintf("The operator is %s.", p.Stage)
	case p.About == 0:
		return fmt.Sprintf("The operator is %s: %.1f MiB.", p.Stage, float64(p.Bytes)/mib)
	}
	return fmt.Sprintf("The operator is %s: %.1f MiB of about %.1f MiB.", p.Stage, float64(p.Bytes)/mib, float64(p.About)/mib)
}
