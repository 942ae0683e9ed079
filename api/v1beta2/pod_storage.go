package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// DefaultMemberStorage is the size of a member's volume where the spec says nothing: four times etcd's default quota.
const DefaultMemberStorage = "8Gi"

// MemberStorage is how many bytes a member's volume is asked to have, 0 where nothing limits it (an emptyDir without
// sizeLimit).
func (s EtcdClusterSpec) MemberStorage() int64 {
	if s.Pod != nil && s.Pod.EmptyDir != nil {
		if limit := s.Pod.EmptyDir.SizeLimit; limit != nil {
			return limit.Value()
		}
		return 0
	}
	if s.Pod != nil && s.Pod.PersistentVolumeClaimSpec != nil {
		if asked, ok := s.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage]; ok {
			return asked.Value()
		}
	}
	size := resource.MustParse(DefaultMemberStorage)
	return size.Value()
}
