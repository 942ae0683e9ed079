package plantest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Copied means that a person created the claim of a member again, for example from a VolumeSnapshot.
func Copied(m *state.Member) {
	m.Volume, m.VolumeID = state.VolumePresent, state.VolumeID{Claim: types.UID("copy-of-" + m.Name), Volume: "pv-copy-of-" + m.Name}
}

// Gi is a GiB in bytes.
const Gi = int64(1) << 30

// VolumesOf sets the size of the volumes.
func VolumesOf(size string) Change {
	return Policy(v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}})
}

// Holds is a member whose volume was asked to have a size, and has a capacity, in GiB.
func Holds(asked, capacity int64) func(*state.Member) {
	return func(m *state.Member) { m.VolumeSize, m.VolumeCapacity = asked*Gi, capacity*Gi }
}

// FileSystemPending means that the file system has waited for a new Pod since that long ago, and the Pod was created that long ago.
func FileSystemPending(since, pod time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		m.FileSystemPendingSince, m.PodCreated = Noon.Add(-since), Noon.Add(-pod)
	}
}

// Retained means that the volumes are kept when the EtcdCluster is deleted.
func Retained(s *state.State) {
	s.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: v1beta2.RetainVolumes}
}

// Kept is a member whose volume is kept when the EtcdCluster is deleted.
func Kept(m *state.Member) { m.VolumeKept = true }

// Recorded means that the status has the volumes that the members serve on.
func Recorded(s *state.State) {
	s.KnownVolumes = map[string]state.VolumeID{}
	for i := range s.Members {
		m := &s.Members[i]
		m.VolumeID = state.VolumeID{Claim: types.UID("claim-of-" + m.Name), Volume: "pv-of-" + m.Name}
		s.KnownVolumes[m.Name] = m.VolumeID
	}
}
