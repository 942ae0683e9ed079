package v1beta2

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// QuotaBackendBytes returns spec.etcd.quotaBackendBytes, and 0 if the spec does not have it.
func (s *EtcdClusterSpec) QuotaBackendBytes() int64 {
	if s.Etcd == nil || s.Etcd.QuotaBackendBytes == nil {
		return 0
	}
	return s.Etcd.QuotaBackendBytes.Value()
}

// Image returns the image of the etcd container.
func (s *EtcdClusterSpec) Image() string { return s.ImageOf(s.EtcdVersion()) }

// ImageOf returns the image of the etcd container for a release of etcd. If the spec's version has the suffix of a registry, such as
// -0, each image has it. The digest is that of the spec's version only. An image of another version may not exist: registries number the
// builds of each release. So take the one that members run, if they are known.
func (s *EtcdClusterSpec) ImageOf(version string) string {
	image := ImagePolicy{}
	if s.ImagePolicy != nil {
		image = *s.ImagePolicy
	}
	_, suffix := etcdversion.Split(s.Version)
	repository := cmp.Or(image.Repository, s.Repository, DefaultRepository)
	reference := repository + ":" + strings.ReplaceAll(cmp.Or(image.Tag, defaultTag), versionInTag, version+suffix)
	if image.Digest != "" && version == s.EtcdVersion() {
		return reference + "@" + image.Digest
	}
	return reference
}

// RetainsVolumes returns whether the volumes are kept when the EtcdCluster is deleted.
func (s *EtcdClusterSpec) RetainsVolumes() bool {
	return s.VolumeRetention != nil && s.VolumeRetention.WhenDeleted == RetainVolumes
}

// KeepReplacedVolumes returns how long the volumes with the data from before a restore or a recovery are kept.
func (s *EtcdClusterSpec) KeepReplacedVolumes() time.Duration {
	if s.Recovery == nil || s.Recovery.KeepReplacedVolumes == nil {
		return DefaultKeepReplacedVolumes
	}
	return s.Recovery.KeepReplacedVolumes.Duration
}

// MemberReplacementGrace returns how long a member may fail to serve before the operator replaces it.
func (s *EtcdClusterSpec) MemberReplacementGrace() time.Duration {
	if s.Recovery == nil || s.Recovery.MemberReplacementGrace == nil {
		return DefaultMemberReplacementGrace
	}
	return s.Recovery.MemberReplacementGrace.Duration
}

// ForeignMemberGrace returns how long a foreign member may be in the membership, and whether the spec has such a time.
func (s *EtcdClusterSpec) ForeignMemberGrace() (time.Duration, bool) {
	if s.Recovery == nil || s.Recovery.ForeignMemberGrace == nil {
		return 0, false
	}
	return s.Recovery.ForeignMemberGrace.Duration, true
}

// ForcesNewCluster returns whether the spec allows the operator to rebuild the cluster from one survivor.
func (s *EtcdClusterSpec) ForcesNewCluster() bool {
	return s.Recovery != nil && s.Recovery.QuorumLoss == QuorumLossForceNewCluster
}

// SafetySnapshotPolicy returns the policy, or its default.
func (s EtcdRestoreSpec) SafetySnapshotPolicy() SafetySnapshotPolicy {
	if s.SafetySnapshot == "" {
		return SafetySnapshotIfPossible
	}
	return s.SafetySnapshot
}

// NoSpaceAction returns what to do if a member has used up its space quota.
func (s *EtcdClusterSpec) NoSpaceAction() NoSpaceAction {
	if s.NoSpace == nil || s.NoSpace.Action == "" {
		return NoSpaceCompact
	}
	return s.NoSpace.Action
}

// KeepRevisions returns how many revisions a compaction keeps.
func (s *EtcdClusterSpec) KeepRevisions() int64 {
	if s.NoSpace == nil || s.NoSpace.KeepRevisions == nil {
		return DefaultKeepRevisions
	}
	return *s.NoSpace.KeepRevisions
}

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
