package restore

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Step is one effect. Steps are small comparable structs, so that a test compares what Plan said.
type Step interface {
	// requeue is how long after the step the world should be looked at again; 0 leaves it to watches.
	requeue() time.Duration
}

type (
	// Done says that nothing is left to do, for good; After is when the restore is to be deleted, 0 for never.
	Done struct{ After time.Duration }
	// Expire deletes a finished restore, as its spec asks.
	Expire struct{}
	// Verify starts reading the source, or that which Choice finds below it.
	Verify struct {
		Source v1beta2.RestoreSource
		Choice source.Choice
	}
	// Verifying lets the reading of the source go on.
	Verifying struct{ Percent int32 }
	// Wait is for something that the operator does not do itself. Failure: it is a fault, and not the ordinary
	// course. For is when to look again; 0 leaves it to watches.
	Wait struct {
		Reason, Message string
		Failure         bool
		For             time.Duration
	}
	// Accept keeps the proof, which lets cluster-operator act.
	Accept struct {
		Source   v1beta2.RestoreSource
		Why      string
		Snapshot v1beta2.Snapshot
	}
	// Follow reports how far the cluster is.
	Follow struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Complete ends the restore: the cluster serves the restored data at its full size.
	Complete struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Fail ends the restore without success; the cluster was not touched.
	Fail struct{ Reason, Message string }
)

// pollVerifying is the pace of telling how far a reading is.
const pollVerifying = 2 * time.Second

func (s Done) requeue() time.Duration    { return s.After }
func (Expire) requeue() time.Duration    { return 0 }
func (Verify) requeue() time.Duration    { return pollVerifying }
func (Verifying) requeue() time.Duration { return pollVerifying }
func (s Wait) requeue() time.Duration    { return s.For }
func (Accept) requeue() time.Duration    { return 0 }
func (Follow) requeue() time.Duration    { return 0 }
func (Complete) requeue() time.Duration  { return 0 }
func (Fail) requeue() time.Duration      { return 0 }
