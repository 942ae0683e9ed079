package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginRestore records that a restore is taken up.
type BeginRestore struct{ Restore v1beta2.ClusterRestoreStatus }

func (step BeginRestore) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The operator is restoring EtcdRestore " + step.Restore.Name + " into a seed. The members continue to serve.",
		Requeue: state.RequeueSoon,
	}, "RestoreStarted", cluster)
}

// PromoteStandby tells a standby to become the cluster. With Planned, it waits until its source has stopped.
type PromoteStandby struct {
	Name    string
	Planned bool
}

// Promotion is what the spec of the EtcdRestore asks for.
func (step PromoteStandby) Promotion() v1beta2.FollowPromotion {
	if step.Planned {
		return v1beta2.FollowPromotePlanned
	}
	return v1beta2.FollowPromoteNow
}

func (step PromoteStandby) describe(s state.State) planning.Description {
	source := ""
	if s.Request != nil && s.Request.Follow != nil {
		source = " of " + s.Request.Follow.Cluster
	}
	message := "Standby " + step.Name + " is being promoted. Writes" + source + " that are not in the archive yet are lost."
	if step.Planned {
		message = "Standby " + step.Name + " will be promoted when its source" + source + " has stopped. No write is lost."
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: message,
		Requeue: state.RequeueSoon,
	}, "StandbyPromoting", planning.Pod(step.Name))
}

// FailRestore records that the seed failed. The old cluster was not changed.
type FailRestore struct{ Message string }

func (step FailRestore) describe(state.State) planning.Description {
	return warned(planning.Description{Reason: v1beta2.ReasonRestoring, Message: step.Message, Requeue: state.RequeueSoon}, "RestoreFailed", "Restore")
}

// CompleteRestore records that the restored cluster is at size and the old volumes are gone.
type CompleteRestore struct{}

func (CompleteRestore) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The restored cluster serves at its full size." + state.TooLate(s),
		Requeue: state.RequeueSoon,
	}, "RestoreComplete", cluster)
}

// AwaitSafetySnapshot records that the seed is ready. restore-operator then saves the old cluster, which still serves. It
// does so again if a safety snapshot is older than the time that was recorded last.
type AwaitSafetySnapshot struct{}

func (AwaitSafetySnapshot) describe(s state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsSafety(s), Requeue: state.RequeueSoon}
}

// BeginSwitch records that the seed is proven. From here, the old members stop.
type BeginSwitch struct {
	ClusterID string
	Revision  int64
}

func (step BeginSwitch) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: fmt.Sprintf("The seed serves the snapshot at revision %d. The operator refuses writes to the old members, or stops them, and then the seed takes over.", step.Revision),
		Requeue: state.RequeueSoon,
	}, "RestoreSwitching", cluster)
}

// StopMembers stops every member that is not of one incarnation, 0 for none. Volumes are kept.
type StopMembers struct{ Except int32 }

func (step StopMembers) describe(state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRestoring, Message: "The operator is stopping the old members.", Requeue: state.RequeueStarting}
	if step.Except == 0 {
		d.Reason, d.Message = v1beta2.ReasonCreating, "A member was lost before the cluster had formed. The operator is stopping the others to start again."
	}
	return d
}

// AdoptSeed records that the seed is the cluster now.
type AdoptSeed struct {
	ClusterID   string
	Incarnation int32
}

func (step AdoptSeed) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: state.WhatIsLost(s) + " The restored cluster has the ID " + step.ClusterID + "." + state.TooLate(s),
		Requeue: state.RequeueSoon,
	}, "RestoreSwitched", cluster)
}

// ReturnToSeeding records that the old members continue to serve until the seed and the safety snapshot were checked again.
type ReturnToSeeding struct{}

func (ReturnToSeeding) describe(s state.State) planning.Description {
	next := "It checks the seed and the safety snapshot again."
	if s.Restore != nil && !s.Requested() {
		next = state.NotRequested(s) + " The restore ends."
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The old members have served since the switch was recorded, so the operator does not stop them yet. " + next,
		Requeue: state.RequeueSoon,
	}, "RestoreSeedingAgain", cluster)
}

// A fence keeps the old members from acknowledging writes while clients are led to a seed. A quorum must answer for that. Then no member has to
// stop before the seed takes over, and it does not matter which members the operator can see or stop:
//
//	 old members   serve ─────────── fenced ───────────────── stop
//	 Service       ──▶ old ────────────────┼──▶ seed
//	 step          │ Switching             │ Growing
//
// The step Switching in the status is the intent. A fence whose restore is not in that step is taken back, so the old members take writes again
// whatever ended the operator in between.

// FenceWrites refuses all writes to the members.
type FenceWrites struct {
	ID etcd.ID
	// Seed is the name of a seed that is fenced before it is the cluster; empty for the members.
	Seed string
}

func (step FenceWrites) describe(s state.State) planning.Description {
	return announced(state.Fencing(s, step.ID, "The operator is refusing all writes of clients, because spec.readOnly is true.",
		"The operator is refusing writes to the old members, so that the seed takes over without losing one."), "FencingWrites", cluster)
}

// UnfenceWrites lets the members take writes again.
type UnfenceWrites struct{ ID etcd.ID }

func (step UnfenceWrites) describe(s state.State) planning.Description {
	bySpec := "The operator lets clients write again, because spec.readOnly is false."
	if s.Spec.ReadOnly {
		bySpec = "The operator lets clients write again, because the refusal of writes does not hold in the etcd of this cluster."
	}
	return announced(state.Fencing(s, step.ID, bySpec, "The operator is taking back fence "+step.ID.String()+", so that the members accept writes again."), "UnfencingWrites", cluster)
}
