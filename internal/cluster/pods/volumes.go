package pods

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

func tlsMounts(s state.State) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	if s.Spec.TLS.SecurePeer() {
		mounts = append(mounts, corev1.VolumeMount{Name: "member-peer-tls", MountPath: command.PeerTLSDir, ReadOnly: true})
	}
	if s.Spec.TLS.SecureClient() {
		mounts = append(mounts, corev1.VolumeMount{Name: "member-server-tls", MountPath: command.ServerTLSDir, ReadOnly: true})
	}
	return mounts
}

func tlsVolumes(s state.State) []corev1.Volume {
	secret := func(name, secret string, keys tlssecret.Keys) corev1.Volume {
		if !s.Spec.TLS.Issued() {
			return corev1.Volume{Name: name, VolumeSource: keys.Volume(secret)}
		}
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
	}
	var volumes []corev1.Volume
	if s.Spec.TLS.SecurePeer() {
		volumes = append(volumes, secret("member-peer-tls", s.Spec.TLS.PeerSecret(s.Name), tlssecret.Peer))
	}
	if s.Spec.TLS.SecureClient() {
		volumes = append(volumes, secret("member-server-tls", s.Spec.TLS.ServerSecret(s.Name), tlssecret.Server))
	}
	return volumes
}

// VolumeOf is the state of a volume.
func VolumeOf(volume *corev1.PersistentVolumeClaim) state.VolumeState {
	if !volume.DeletionTimestamp.IsZero() {
		return state.VolumeDeleting
	}
	if volume.Status.Phase == corev1.ClaimLost {
		return state.VolumeLost
	}
	return state.VolumePresent
}

// ObserveVolume reads how a member's volume stands.
func ObserveVolume(m *state.Member, volume *corev1.PersistentVolumeClaim) {
	m.Volume = VolumeOf(volume)
	m.VolumeID, m.VolumeCreated = VolumeIDOf(volume), volume.CreationTimestamp.Time
	m.VolumeUnused = volume.Annotations[AnnotationUnused] != ""
	m.WasSetAside = volume.Annotations[v1beta2.AnnotationReplacedAt] != ""
	m.Recovered = volume.Annotations[v1beta2.AnnotationRecoveredFrom] != ""
	if m.Recovered {
		m.RecoveredAt, _ = time.Parse(time.RFC3339, volume.Annotations[v1beta2.AnnotationRecoveryStartedAt]) // zero for the mark of an earlier release
	}
	m.VolumeKept = metav1.GetControllerOf(volume) == nil
	m.VolumeSize = volume.Spec.Resources.Requests.Storage().Value()
	m.VolumeCapacity = volume.Status.Capacity.Storage().Value()
	if state := volume.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; state == corev1.PersistentVolumeClaimControllerResizeInfeasible || state == corev1.PersistentVolumeClaimNodeResizeInfeasible {
		m.VolumeProblem = string(state)
	}
	for _, c := range volume.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			m.FileSystemPendingSince = c.LastTransitionTime.Time
		}
	}
}

// VolumeIDOf returns what tells a claim from another one of the same name.
func VolumeIDOf(volume *corev1.PersistentVolumeClaim) state.VolumeID {
	return state.VolumeID{Claim: volume.UID, Volume: volume.Spec.VolumeName}
}

func volumeOfData(s state.State, member string) corev1.Volume {
	volume := corev1.Volume{Name: DataVolume}
	if s.Durable() {
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member}
	} else {
		volume.EmptyDir = s.Spec.Pod.EmptyDir
	}
	return volume
}

// volumesBeside are those of the user's containers.
func volumesBeside(policy v1beta2.PodPolicy) []corev1.Volume {
	var volumes []corev1.Volume
	for _, v := range policy.Volumes {
		volumes = append(volumes, v.Volume())
	}
	return volumes
}

// NewVolume is the PersistentVolumeClaim of a member. It is empty in each case: a data source would give it the data, and so the
// ID, of another member.
func NewVolume(s state.State, m steps.CreateMember) *corev1.PersistentVolumeClaim {
	spec := corev1.PersistentVolumeClaimSpec{}
	if given := s.PodPolicy().PersistentVolumeClaimSpec; given != nil {
		given.DeepCopyInto(&spec)
		spec.DataSource, spec.DataSourceRef = nil, nil
	}
	if len(spec.AccessModes) == 0 {
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if spec.Resources.Requests == nil {
		spec.Resources.Requests = corev1.ResourceList{}
	}
	spec.Resources.Requests[corev1.ResourceStorage] = state.StorageRequest(s)
	volume := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: m.Name, Labels: memberLabels(s, m.Name, m.Incarnation)},
		Spec:       spec,
	}
	volume.Annotations = map[string]string{v1beta2.AnnotationClusterUID: string(s.UID)}
	if m.Waits {
		volume.Annotations[AnnotationUnused] = "true"
	}
	if m.InitialSize > 0 {
		volume.Annotations[AnnotationInitialSize] = strconv.Itoa(m.InitialSize)
	}
	given, _ := services.MetadataFor(s, "PersistentVolumeClaim", m.Name)
	given.Stamp(volume)
	return volume
}

// secretsOf are the Secrets of the volumes with certificates. Earlier releases mounted each as it is.
func secretsOf(volumes []corev1.Volume) []string {
	var names []string
	for _, v := range volumes {
		switch {
		case v.Secret != nil:
			names = append(names, v.Secret.SecretName)
		case v.Projected != nil && len(v.Projected.Sources) > 0 && v.Projected.Sources[0].Secret != nil:
			names = append(names, v.Projected.Sources[0].Secret.Name)
		}
	}
	return names
}
