package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Actions of events.
const (
	actionSnapshot = "TakeSnapshot"
	actionPrune    = "RemoveSnapshots"
	actionValidate = "Validate"
	actionDrill    = "Drill"
	actionExpire   = "Expire"
	ActionCopy     = "CopySnapshots"
	ActionArchive  = "Archive"
)

// NewEvent returns an event whose note is as long as the API allows.
func NewEvent(kind, reason, action, note string) planning.Event {
	return planning.Event{Type: kind, Reason: reason, Action: action, Note: planning.Shorten(note, planning.MaxNote)}
}

// tested returns the event of a restore test.
func tested(d v1beta2.BackupDrill) planning.Event {
	if d.Result == v1beta2.DrillPassed {
		return NewEvent(corev1.EventTypeNormal, "DrillPassed", actionDrill, fmt.Sprintf("Snapshot %s passed the restore test. %s", d.Path, d.Message))
	}
	return NewEvent(corev1.EventTypeWarning, "DrillFailed", actionDrill, Unusable(d))
}

// provedEvent returns the event of a proof.
func provedEvent(p v1beta2.ArchiveProof) planning.Event {
	if p.Result == v1beta2.ProofPassed {
		return NewEvent(corev1.EventTypeNormal, "ArchiveProven", ActionArchive, "The continuous archive is proven up to snapshot "+p.To+". "+p.Message)
	}
	return NewEvent(corev1.EventTypeWarning, "ArchiveDisproven", ActionArchive, Disproven(p))
}
