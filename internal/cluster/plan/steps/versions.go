package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CancelDowngrade cancels a downgrade that is enabled in etcd.
type CancelDowngrade struct{ From string }

func (step CancelDowngrade) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonUpgrading,
		Message: "The conversion of the data to " + step.From + " is not needed any more. The operator is cancelling it.",
		Requeue: state.RequeueStarting,
	}, "DowngradeCancelled", cluster)
}

// EnableDowngrade has etcd bring the data of all members down to a minor version, on the way to another.
type EnableDowngrade struct{ To, For string }

func (step EnableDowngrade) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonUpgrading,
		Message: fmt.Sprintf("The operator is preparing the members' data for %s. etcd converts it to %s while the members serve.", step.For, state.Minor(step.To)),
		Requeue: state.RequeueStarting,
	}, "PreparingVersionChange", cluster)
}

// RecordVersionChange records what the members' data was proven to be prepared for.
type RecordVersionChange v1beta2.VersionChangeStatus

func (step RecordVersionChange) describe(state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonUpgrading, Requeue: state.RequeueSoon}
	switch step.Step {
	case v1beta2.VersionChangePreparing:
		d.Message = "The operator is preparing the members' data for " + step.To + "."
		return d
	case v1beta2.VersionChangeSnapshotted:
		d.Message = "Every member has a raft snapshot that " + step.To + " can start from."
		return d
	default:
		d.Message = "The members' data is ready for " + step.To + "."
	}
	if step.Step != v1beta2.VersionChangeReady {
		return d
	}
	return announced(d, "VersionChangePrepared", cluster)
}

// StopStale returns the step that stops a member whose Pod differs from the spec. Otherwise it returns nil.
func StopStale(s state.State, m state.Member) Step {
	stop := DeletePod{Name: m.Name}
	switch {
	case m.PodImage != s.Spec.Image():
		stop.Reason, stop.Message = v1beta2.ReasonUpgrading, "it must run image "+s.Spec.Image()
	case state.TrustsOldCA(s, m):
		stop.Reason, stop.Message = v1beta2.ReasonRotatingCertificates, "it must trust the CA that its Secrets hold now"
	case m.Outdated && m.Resize == state.ResizeNone:
		stop.Reason, stop.Message = v1beta2.ReasonRolling, "spec.pod or spec.TLS has changed"
	case m.Start == state.StartSeed && (m.Volume == state.VolumePresent || !s.Durable()) && state.RestoreStep(s) == v1beta2.RestoreGrowing:
		stop.Reason, stop.Message = v1beta2.ReasonRestoring, "it must run without the init container that restored it"
	default:
		return nil
	}
	return stop
}

// Advice says that the cluster is as its spec asks, and that a person should correct something.
type Advice struct{ Reason, Message string }

func (step Advice) describe(s state.State) planning.Description {
	return warned(planning.Description{Reason: step.Reason, Message: step.Message + state.SaysFenced(s), Requeue: state.RequeueSettled}, step.Reason, "Check")
}
