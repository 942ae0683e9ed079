package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

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

// setRetention writes down at every volume what becomes of it when the EtcdCluster is deleted: then it is too late. While
// the operator is paused, it only keeps volumes: to give one up can wait.
func setRetention(s state.State) Step {
	keep := s.Spec.RetainsVolumes()
	if (s.Spec.Paused && !keep) || foreignMembers(s) != nil {
		return nil
	}
	for _, m := range s.Members {
		if step := (KeepVolume{Name: m.Name, Keep: keep}); m.Volume == state.VolumePresent && m.VolumeKept != keep && may(s, step) {
			return step
		}
	}
	for _, v := range s.SetAside { // the only copy of the data from before a restore
		if step := (KeepVolume{Name: v.Name, Keep: keep}); !v.Deleting && v.Kept != keep && may(s, step) {
			return step
		}
	}
	return nil
}

// requestGrowth asks for volumes of the size that the spec asks for. It needs no healthy cluster: members whose volumes are
// full cannot start, and larger volumes are their way out. Volumes of members that serve grow one after the other, so that
// a size that the driver does not have is asked for once. A volume that was asked for more than its driver has may be asked
// for less, as long as that is more than it holds: Kubernetes allows no other way back.
func requestGrowth(s state.State) Step {
	if foreignMembers(s) != nil {
		return nil
	}
	want := state.StorageRequest(s)
	kept := s.Where(func(m state.Member) bool { return keepsVolume(s, m) })
	growing := slices.ContainsFunc(kept, func(m state.Member) bool { return m.VolumeCapacity < m.VolumeSize && m.VolumeCapacity < want.Value() })
	for _, m := range kept {
		small := m.VolumeSize < want.Value() && !m.VolumeFixed
		tooMuch := m.VolumeProblem != "" && m.VolumeSize > want.Value() && m.VolumeCapacity < want.Value()
		serves := m.Serving || m.PodReady
		resize := ResizeVolume{Name: m.Name, Size: want.String()}
		if m.VolumeRefused == "" && (tooMuch || (small && (!serves || !growing))) && may(s, resize) {
			return resize
		}
	}
	return nil
}

// keepsVolume says whether a member has a volume that its data stays on: it is bound, and its member was not removed.
func keepsVolume(s state.State, m state.Member) bool {
	current := max(s.Incarnation, state.FirstIncarnation)
	removed := s.MembershipKnown && m.Incarnation == s.Incarnation && !m.InMembership
	return m.Volume == state.VolumePresent && m.VolumeSize > 0 && m.VolumeCapacity > 0 && m.Incarnation >= current && !removed
}

// growVolumes waits for volumes that were asked to grow, and says why one does not. A volume that holds more than asked for
// is as good: volumes cannot shrink.
func growVolumes(s state.State) Step {
	want := state.StorageRequest(s)
	for _, m := range s.Current() {
		if m.Volume == state.VolumePresent && m.VolumeCapacity > 0 && m.VolumeCapacity < min(m.VolumeSize, want.Value()) {
			return awaitResize(s, m)
		}
	}
	for _, m := range s.Current() {
		if m.Volume == state.VolumePresent && m.VolumeSize > 0 && m.VolumeSize < want.Value() {
			return cannotGrow(s, m, want.String())
		}
	}
	return nil
}

// cannotGrow says why a volume was not asked to grow; nothing if it cannot be asked yet.
func cannotGrow(s state.State, m state.Member, want string) Step {
	wait := Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Stalled: true, Requeue: state.RequeueSettled}
	switch {
	case m.VolumeFixed:
		wait.Message = fmt.Sprintf("The StorageClass of volume %s does not allow it to grow to %s. The members continue to serve. "+
			"If the driver can grow volumes, set allowVolumeExpansion in the class. The operator checks it every %s. "+
			"Otherwise set the former spec.pod.persistentVolumeClaimSpec again.", m.Name, want, state.RequeueSettled)
	case m.VolumeRefused != "":
		wait.Message = fmt.Sprintf("Kubernetes refuses to grow volume %s to %s: %s. The members keep the volumes that they have. Remove the cause, or set the former spec.pod.persistentVolumeClaimSpec again. The operator tries again every %s.",
			m.Name, want, m.VolumeRefused, RefusalKept)
	default:
		return nil
	}
	return wait
}

// RefusalKept is how long the operator does not repeat a request for a larger volume that Kubernetes refused.
const RefusalKept = 5 * time.Minute

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

func awaitResize(s state.State, m state.Member) Step {
	message := fmt.Sprintf("Volume %s is growing from %s to %s.", m.Name, state.BytesOf(m.VolumeCapacity), state.BytesOf(m.VolumeSize))
	if m.VolumeProblem != "" {
		message += planning.Sentence(" Its driver reports: ", m.VolumeProblem) +
			" The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first."
		return Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Message: message, Stalled: true, Requeue: state.RequeueSettled}
	}
	if !m.FileSystemPendingSince.IsZero() {
		message += " Its file system grows when its Pod restarts. Delete Pod " + m.Name + ": the operator restarts the member with its data."
	}
	return AwaitResize{Message: message}
}

// restartForFileSystem restarts a member that does not serve and whose file system grows only with the next Pod: the volume
// may be full, and then no restart of the container helps. A Pod that is newer than the request is not restarted again.
func restartForFileSystem(s state.State) Step {
	for _, m := range s.Members {
		pending := !m.FileSystemPendingSince.IsZero() && m.PodCreated.Before(m.FileSystemPendingSince)
		stopped := !m.Serving && !m.Answers && !m.PodReady && (m.Pod == state.PodStarting || m.Pod == state.PodRunning || m.Pod == state.PodBlocked)
		restart := DeletePod{Name: m.Name, Reason: v1beta2.ReasonResizingVolume, Message: "it does not serve, and the file system of its larger volume grows when its Pod restarts"}
		if pending && stopped && state.KeepsData(s, m) && s.Now.Sub(m.FileSystemPendingSince) > state.RecreateGrace && state.UnreadyFor(s, m, state.RecreateGrace) && may(s, restart) {
			return restart
		}
	}
	return nil
}
