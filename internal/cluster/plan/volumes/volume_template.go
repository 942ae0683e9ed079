package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// VolumeTemplateRefused reports a template of volumes that no new member could use. Those that exist are not affected.
func VolumeTemplateRefused(s state.State) steps.Step {
	if source := volumeSource(s); source != "" {
		return steps.Wait{
			Reason: v1beta2.ReasonInvalidSpec,
			Message: "spec.pod.persistentVolumeClaimSpec." + source + " cannot be used: a volume that is made from it has the identity of another member. Two members with one identity can lose confirmed writes. " +
				"The operator creates new volumes without it. Remove the field, which restarts no member. To start from saved data, restore a snapshot with an EtcdRestore.",
			Stalled: true, Requeue: state.RequeueStalled,
		}
	}
	problem := volumeTemplateProblem(s)
	if problem == "" {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonInvalidSpec,
		Message: "spec.pod.persistentVolumeClaimSpec cannot be used: " + problem + ". The members serve on the volumes that they have, but a member that is added or replaced would get none. " +
			"Correct spec.pod.persistentVolumeClaimSpec.",
		Stalled: true, Requeue: state.RequeueStalled,
	}
}

// volumeTemplateProblem says why members could not use volumes of the spec's template. Specs that were stored before the
// schema refused them are among those.
func volumeTemplateProblem(s state.State) string {
	given := s.PodPolicy().PersistentVolumeClaimSpec
	switch {
	case given == nil || !s.Durable():
		return ""
	case ptr.Deref(given.VolumeMode, corev1.PersistentVolumeFilesystem) != corev1.PersistentVolumeFilesystem:
		return "volumeMode is " + string(*given.VolumeMode) + ", and etcd needs a file system"
	case given.VolumeName != "" && s.Spec.Size > 1:
		return "volumeName is " + given.VolumeName + ", and each member needs a volume of its own"
	}
	return s.VolumeTemplateProblem
}

// volumeSource names the field of the template that fills new volumes with data, and what it names. It is empty if there is none. The
// schema refuses the field, but a spec may have it from before.
func volumeSource(s state.State) string {
	given := s.PodPolicy().PersistentVolumeClaimSpec
	switch {
	case given == nil || !s.Durable():
		return ""
	case given.DataSource != nil:
		return "dataSource (" + given.DataSource.Kind + " " + given.DataSource.Name + ")"
	case given.DataSourceRef != nil:
		return "dataSourceRef (" + given.DataSourceRef.Kind + " " + given.DataSourceRef.Name + ")"
	}
	return ""
}
