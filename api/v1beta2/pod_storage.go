package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// DefaultMemberStorage is the size of a member's volume if the spec has none: four times etcd's default quota.
const DefaultMemberStorage = "8Gi"

// MemberStorage returns the requested size of a member's volume in bytes. It is 0 if the size is unlimited, as in an
// emptyDir without sizeLimit.
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
