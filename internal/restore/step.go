package restore

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Step is one effect. Steps are small comparable structs, so that a test compares what Plan said.
type Step interface {
	// requeue is how long after the step the world should be looked at again; 0 leaves it to watches.
	requeue() time.Duration
}

type (
	// Done says that nothing is left to do, for good.
	Done struct{}
	// Verify starts reading the source.
	Verify struct{ Source v1beta2.RestoreSource }
	// Verifying lets the reading of the source go on.
	Verifying struct{}
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
		Snapshot v1beta2.Snapshot
	}
	// Follow reports how far the cluster is.
	Follow struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Complete ends the restore: the cluster serves the restored data at its full size.
	Complete struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Fail ends the restore without success; the cluster was not touched.
	Fail struct{ Reason, Message string }
)

func (Done) requeue() time.Duration      { return 0 }
func (Verify) requeue() time.Duration    { return 0 }
func (Verifying) requeue() time.Duration { return 0 }
func (s Wait) requeue() time.Duration    { return s.For }
func (Accept) requeue() time.Duration    { return 0 }
func (Follow) requeue() time.Duration    { return 0 }
func (Complete) requeue() time.Duration  { return 0 }
func (Fail) requeue() time.Duration      { return 0 }
