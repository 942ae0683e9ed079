package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// Copying is the message while snapshots are copied.
	Copying = "The operator is copying snapshots to the second location."
	// purging is the message while the snapshots are deleted.
	purging = "The operator is deleting the snapshots, because deletionPolicy is Delete."
	// pruning is the message while old snapshots are deleted.
	pruning = "The operator is deleting old snapshots of the suspended series."
)

// Disproven says what a failed proof means, and what to do.
func Disproven(p v1beta2.ArchiveProof) string {
	from := p.From
	if from == "" {
		from = "its snapshots"
	}
	return fmt.Sprintf("The continuous archive failed its proof from %s up to revision %d: %s. Points after that snapshot may not be recoverable. "+
		"The operator deletes nothing until a proof passes. Check the store. If the damage is final, delete the object that is named, and that snapshot with its manifest.",
		from, p.Revision, strings.TrimSuffix(p.Message, "."))
}

// contents describes a snapshot in one sentence.
func contents(s v1beta2.Snapshot) string {
	return fmt.Sprintf("Snapshot %s holds revision %d, with %d keys and %d bytes.", s.Path, s.Revision, s.Keys, s.Size)
}

// Unusable says what to do about a snapshot that failed its restore test.
func Unusable(d v1beta2.BackupDrill) string {
	return planning.Sentence("Snapshot "+d.Path+" failed the restore test: ", d.Message) +
		" Do not restore from it. Take another snapshot, and check the store and the disks of the members."
}

// scheduled describes a series whose next snapshot is due at that time. problem is why old snapshots were not deleted,
// and is empty if they were.
func scheduled(at time.Time, problem string) planning.Description {
	message := "The next snapshot is due at " + state.Stamp(at) + "."
	if problem != "" {
		message += planning.Sentence(" Old snapshots were not deleted: ", problem)
	}
	return planning.Description{Reason: v1beta2.ReasonScheduled, Message: message}
}
