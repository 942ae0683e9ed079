package volumes

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// SetRetention writes down at every volume what becomes of it when the EtcdCluster is deleted: then it is too late. While
// the operator is paused, it only keeps volumes: to give one up can wait.
func SetRetention(s state.State) steps.Step {
	keep := s.Spec.RetainsVolumes()
	if (s.Spec.Paused && !keep) || waits.ForeignMembers(s) != nil {
		return nil
	}
	for _, m := range s.Members {
		if step := (steps.KeepVolume{Name: m.Name, Keep: keep}); m.Volume == state.VolumePresent && m.VolumeKept != keep && waits.May(s, step) {
			return step
		}
	}
	for _, v := range s.SetAside { // the only copy of the data from before a restore
		if step := (steps.KeepVolume{Name: v.Name, Keep: keep}); !v.Deleting && v.Kept != keep && waits.May(s, step) {
			return step
		}
	}
	return nil
}

// RequestGrowth asks for volumes of the size that the spec asks for. It needs no healthy cluster: members whose volumes are
// full cannot start, and larger volumes are their way out. Volumes of members that serve grow one after the other, so that
// a size that the driver does not have is asked for once. A volume that was asked for more than its driver has may be asked
// for less, as long as that is more than it holds: Kubernetes allows no other way back.
func RequestGrowth(s state.State) steps.Step {
	if waits.ForeignMembers(s) != nil {
		return nil
	}
	want := state.StorageRequest(s)
	kept := s.Where(func(m state.Member) bool { return keepsVolume(s, m) })
	growing := slices.ContainsFunc(kept, func(m state.Member) bool { return m.VolumeCapacity < m.VolumeSize && m.VolumeCapacity < want.Value() })
	for _, m := range kept {
		small := m.VolumeSize < want.Value() && !m.VolumeFixed
		tooMuch := m.VolumeProblem != "" && m.VolumeSize > want.Value() && m.VolumeCapacity < want.Value()
		serves := m.Serving || m.PodReady
		resize := steps.ResizeVolume{Name: m.Name, Size: want.String()}
		if m.VolumeRefused == "" && (tooMuch || (small && (!serves || !growing))) && waits.May(s, resize) {
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

// GrowVolumes waits for volumes that were asked to grow, and says why one does not. A volume that holds more than asked for
// is as good: volumes cannot shrink.
func GrowVolumes(s state.State) steps.Step {
	want := state.StorageRequest(s)
	for _, m := range s.Current() {
		if m.Volume == state.VolumePresent && m.VolumeCapacity > 0 && m.VolumeCapacity < min(m.VolumeSize, want.Value()) {
			return awaitResize(m)
		}
	}
	for _, m := range s.Current() {
		if m.Volume == state.VolumePresent && m.VolumeSize > 0 && m.VolumeSize < want.Value() {
			return cannotGrow(m, want.String())
		}
	}
	return nil
}

// cannotGrow says why a volume was not asked to grow; nothing if it cannot be asked yet.
func cannotGrow(m state.Member, want string) steps.Step {
	wait := steps.Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Stalled: true, Requeue: state.RequeueSettled}
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

func awaitResize(m state.Member) steps.Step {
	message := fmt.Sprintf("Volume %s is growing from %s to %s.", m.Name, state.BytesOf(m.VolumeCapacity), state.BytesOf(m.VolumeSize))
	if m.VolumeProblem != "" {
		message += planning.Sentence(" Its driver reports: ", m.VolumeProblem) +
			" The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first."
		return steps.Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Message: message, Stalled: true, Requeue: state.RequeueSettled}
	}
	if !m.FileSystemPendingSince.IsZero() {
		message += " Its file system grows when its Pod restarts. Delete Pod " + m.Name + ": the operator restarts the member with its data."
	}
	return steps.AwaitResize{Message: message}
}

// RestartForFileSystem restarts a member that does not serve and whose file system grows only with the next Pod: the volume
// may be full, and then no restart of the container helps. A Pod that is newer than the request is not restarted again.
func RestartForFileSystem(s state.State) steps.Step {
	for _, m := range s.Members {
		pending := !m.FileSystemPendingSince.IsZero() && m.PodCreated.Before(m.FileSystemPendingSince)
		stopped := !m.Serving && !m.Answers && !m.PodReady && (m.Pod == state.PodStarting || m.Pod == state.PodRunning || m.Pod == state.PodBlocked)
		restart := steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonResizingVolume, Message: "it does not serve, and the file system of its larger volume grows when its Pod restarts"}
		if pending && stopped && !state.StopsLater(m) && state.KeepsData(s, m) && s.Now.Sub(m.FileSystemPendingSince) > state.RecreateGrace && state.UnreadyFor(s, m, state.RecreateGrace) && waits.May(s, restart) {
			return restart
		}
	}
	return nil
}

// VolumeIDOf returns the volume to record for a member: that on which it serves, and else what was recorded before.
func VolumeIDOf(s state.State, m state.Member) state.VolumeID {
	mounted := m.Pod == state.PodRunning && m.Serving && m.Volume != state.VolumeNone && !m.VolumeCreated.After(m.PodCreated)
	if mounted && !state.InPod(s, m) && !state.OnAnotherVolume(s, m) && m.VolumeID.Claim != "" {
		return m.VolumeID
	}
	was, _ := state.ServedOn(s, m)
	return was
}
