package restore

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Step is one effect. Steps are small comparable structs, so that a test compares what Plan said.
type Step interface {
	// Requeue is how long after the step the world should be looked at again; 0 leaves it to watches.
	Requeue() time.Duration
}

type (
	// Done: nothing is left to do, for good.
	Done struct{}
	// Verify starts reading the source.
	Verify struct{ Source v1beta2.RestoreSource }
	// Verifying: the source is being read.
	Verifying struct{}
	// Wait: something must happen first that the operator does not do itself. Failure: it is a fault, and not
	// the ordinary course. For is when to look again; 0 leaves it to watches.
	Wait struct {
		Reason, Message string
		Failure         bool
		For             time.Duration
	}
	// Accept keeps the proof, which lets cluster-operator act.
	Accept struct {
		Source   v1beta2.RestoreSource
		Snapshot v1beta2.Snapshot
	}
	// Follow reports how far the cluster is.
	Follow struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Complete: the cluster serves the restored data at its full size.
	Complete struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Fail ends the restore without success; the cluster was not touched.
	Fail struct{ Reason, Message string }
)

func (Done) Requeue() time.Duration      { return 0 }
func (Verify) Requeue() time.Duration    { return 0 }
func (Verifying) Requeue() time.Duration { return 0 }
func (s Wait) Requeue() time.Duration    { return s.For }
func (Accept) Requeue() time.Duration    { return 0 }
func (Follow) Requeue() time.Duration    { return 0 }
func (Complete) Requeue() time.Duration  { return 0 }
func (Fail) Requeue() time.Duration      { return 0 }
