package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginRecovery records the survivor that the cluster continues from.
type BeginRecovery struct {
	Member              string
	RaftIndex, RaftTerm uint64
}

func (step BeginRecovery) describe(state.State) planning.Description {
	return warned(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: fmt.Sprintf("Quorum is lost. As spec.recovery.quorumLoss asks, the cluster continues from member %s, which has the newest data (raft index %d, term %d).", step.Member, step.RaftIndex, step.RaftTerm),
		Requeue: state.RequeueSoon,
	}, "RecoveryStarted", "Recover")
}

// CancelRecovery records that the survivor was not restarted, or is lost.
type CancelRecovery struct {
	Message string
	// NeverForced: the survivor itself says so, whatever the status says. If the status is an old one, its marks must not be void.
	NeverForced bool
}

func (step CancelRecovery) describe(state.State) planning.Description {
	return warned(planning.Description{
		Reason:  v1beta2.ReasonQuorumLost,
		Message: "The recovery is cancelled. " + step.Message,
		Requeue: state.RequeueStarting,
	}, "RecoveryCancelled", "Recover")
}

// CompleteRecovery records that the cluster is at size again.
type CompleteRecovery struct{}

func (CompleteRecovery) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: "The recovered cluster serves at its full size.",
		Requeue: state.RequeueSoon,
	}, "RecoveryComplete", cluster)
}

// UnmarkVolume removes the mark from the volume of a member that serves.
type UnmarkVolume struct{ Name string }

func (step UnmarkVolume) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "Member " + step.Name + " serves in the quorum. So its volume is no longer marked as one that a recovery continued without.",
		Requeue: state.RequeueSoon,
	}
}

// RecordForcing records that the survivor is about to start with --force-new-cluster.
type RecordForcing struct{ Member string }

func (step RecordForcing) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: "Survivor " + step.Member + " is about to start with --force-new-cluster.",
		Requeue: state.RequeueSoon,
	}
}

// RecordForced records that the survivor served as a cluster of one.
type RecordForced struct{ Revision int64 }

func (step RecordForced) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: fmt.Sprintf("The survivor serves alone at revision %d. The cluster grows from it.", step.Revision),
		Requeue: state.RequeueSoon,
	}, "RecoveryForced", cluster)
}
