package steps

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// SetAsideVolume takes a volume from the members' volumes and keeps it for some time.
type SetAsideVolume struct{ Name string }

func (step SetAsideVolume) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator keeps volume " + step.Name + ", " + state.WhyAside(s, step.Name) + ", for " + s.Spec.KeepReplacedVolumes().String() + ".",
		Requeue: state.RequeueSoon,
	}, "KeepingVolume", planning.Volume(step.Name))
}

// ForbidEmptyStart changes the Pod of a member that has started, so that its containers start with data only. The Pod runs on.
type ForbidEmptyStart struct{ Name string }

func (step ForbidEmptyStart) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "Member " + step.Name + " has started. From now on its Pod starts etcd only with the data of the member.",
		Requeue: state.RequeueSoon,
	}
}

// VolumeMayFill says that the cluster is as its spec asks, and that a volume is too small for what etcd may write.
type VolumeMayFill struct{ Name, Message string }

func (step VolumeMayFill) describe(state.State) planning.Description {
	d := warned(planning.Description{Reason: v1beta2.ReasonVolumeMayFill, Message: step.Message, Requeue: state.RequeueSettled}, v1beta2.ReasonVolumeMayFill, "Check")
	d.Events[0].About = planning.Volume(step.Name)
	return d
}

// KeepVolume lets a volume outlive its EtcdCluster, or be deleted with it.
type KeepVolume struct {
	Name string
	Keep bool
}

func (step KeepVolume) describe(state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonSettling, Requeue: state.RequeueSoon}
	if step.Keep {
		d.Message = "The operator is marking volume " + step.Name + " to be kept when the EtcdCluster is deleted."
	} else {
		d.Message = "The operator is marking volume " + step.Name + " to be deleted with the EtcdCluster."
	}
	return d
}

// ResizeVolume asks for a larger volume. Size is a quantity.
type ResizeVolume struct{ Name, Size string }

func (step ResizeVolume) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonResizingVolume,
		Message: "The operator is growing volume " + step.Name + " to " + step.Size + ".",
		Requeue: state.RequeueSoon,
	}, "GrowingVolume", planning.Volume(step.Name))
}

// AwaitResize says that a volume is not yet as large as was asked for. The claim is watched.
type AwaitResize struct{ Message string }

func (step AwaitResize) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonResizingVolume,
		Message: step.Message,
		Requeue: state.RequeueSettled,
	}
}
