package pods

import (
	"cmp"
	"maps"
	"strconv"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// podMetadata are the labels and annotations that users ask for on every Pod.
type podMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func podAnnotations(s state.State, m steps.CreateMember) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, s.PodPolicy().Annotations)
	annotations[v1beta2.AnnotationVersion] = state.VersionFor(s, m.Incarnation)
	annotations[AnnotationStart] = string(m.Start)
	annotations[annotationImage] = s.ImageFor(m.Incarnation)
	if s.Certificates.Trust != "" {
		annotations[annotationTrust], annotations[AnnotationLoaded] = s.Certificates.Trust, s.Certificates.Loaded
	}
	annotations[AnnotationTemplate], annotations[annotationMetadata] = Template(s), Text(Metadata(s))
	if m.InitialSize > 0 {
		annotations[AnnotationInitialSize] = strconv.Itoa(m.InitialSize)
	}
	if command.MakesData(m.Start) && !m.Waits {
		annotations[AnnotationInitialCluster] = command.InitialMembers(s, m)
	}
	if r := s.Request; m.Start == state.StartSeed && r != nil && r.Follow != nil {
		if promote := cmp.Or(r.Follow.Promote, followOf(s).Promote); promote != "" {
			annotations[AnnotationPromote] = string(promote)
		}
	}
	return annotations
}

// followOf returns how far the standby of the restore under way is.
func followOf(s state.State) v1beta2.FollowStatus {
	if s.Restore == nil || s.Restore.Follow == nil {
		return v1beta2.FollowStatus{}
	}
	return *s.Restore.Follow
}

// Metadata returns those of a spec, without the annotation of kubectl rollout restart.
func Metadata(s state.State) podMetadata {
	policy := s.PodPolicy()
	annotations := maps.Clone(policy.Annotations)
	delete(annotations, AnnotationRestartedAt)
	return podMetadata{Labels: policy.Labels, Annotations: annotations}
}
