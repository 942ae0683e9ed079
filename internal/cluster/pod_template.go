package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	// annotationTemplate holds the hash of what of the spec a member's Pod was made for.
	annotationTemplate = v1beta2.Group + "/template"
	// annotationMetadata holds the labels and annotations of the spec that a Pod was given.
	annotationMetadata = v1beta2.Group + "/metadata"
	// annotationRestartedAt is the one annotation whose change restarts members, as with kubectl rollout restart.
	annotationRestartedAt = "kubectl.kubernetes.io/restartedAt"
)

// podTemplate is what of the spec shapes a member's Pod and cannot be changed while it runs. It holds what users
// write and nothing that the operator makes of it, so that another release of the operator, with other defaults,
// flags or probes, restarts nobody. A field that is not set is left out, so that one that a later release adds
// changes no hash. The image is compared by itself; labels and annotations are changed in place.
type podTemplate struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	AntiAffinity              bool                              `json:"antiAffinity,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	Resources                 *corev1.ResourceRequirements      `json:"resources,omitempty"`
	EtcdEnv                   []corev1.EnvVar                   `json:"etcdEnv,omitempty"`
	EmptyDir                  *corev1.EmptyDirVolumeSource      `json:"emptyDir,omitempty"`
	SecurityContext           *corev1.PodSecurityContext        `json:"securityContext,omitempty"`
	ImagePullSecrets          []corev1.LocalObjectReference     `json:"imagePullSecrets,omitempty"`
	PriorityClassName         string                            `json:"priorityClassName,omitempty"`
	ServiceAccountName        string                            `json:"serviceAccountName,omitempty"`
	ClusterDomain             string                            `json:"clusterDomain,omitempty"`
	// TLSSecrets are the Secrets that are mounted, in the order of their volumes.
	TLSSecrets  []string `json:"tlsSecrets,omitempty"`
	RestartedAt string   `json:"restartedAt,omitempty"`

	PullPolicy                    corev1.PullPolicy   `json:"pullPolicy,omitempty"`
	Etcd                          *v1beta2.EtcdPolicy `json:"etcd,omitempty"`
	RuntimeClassName              *string             `json:"runtimeClassName,omitempty"`
	SchedulerName                 string              `json:"schedulerName,omitempty"`
	HostUsers                     *bool               `json:"hostUsers,omitempty"`
	TerminationGracePeriodSeconds *int64              `json:"terminationGracePeriodSeconds,omitempty"`
	InitContainers                []corev1.Container  `json:"initContainers,omitempty"`
	Containers                    []corev1.Container  `json:"containers,omitempty"`
	Volumes                       []v1beta2.PodVolume `json:"volumes,omitempty"`
}

// templateVersion is raised when every member has to be made again because of the operator itself.
const templateVersion = "1"

// template is the hash of what the spec asks of every member's Pod.
func template(s plan.State) string { return templateOf(s, s.PodPolicy().Resources) }

// templateOf is template with other resources.
func templateOf(s plan.State, resources corev1.ResourceRequirements) string {
	policy := s.PodPolicy()
	t := podTemplate{
		NodeSelector:              policy.NodeSelector,
		Affinity:                  policy.Affinity,
		AntiAffinity:              policy.AntiAffinity && policy.Affinity == nil,
		TopologySpreadConstraints: policy.TopologySpreadConstraints,
		Tolerations:               sorted(policy.Tolerations),
		EtcdEnv:                   policy.EtcdEnv,
		EmptyDir:                  policy.EmptyDir,
		SecurityContext:           policy.SecurityContext,
		ImagePullSecrets:          sorted(policy.ImagePullSecrets),
		PriorityClassName:         policy.PriorityClassName,
		ServiceAccountName:        policy.ServiceAccountName,
		ClusterDomain:             policy.ClusterDomain,
		TLSSecrets:                secretsOf(tlsVolumes(s)),
		RestartedAt:               policy.Annotations[annotationRestartedAt],

		PullPolicy:                    pullPolicy(s),
		Etcd:                          askedOptions(s),
		RuntimeClassName:              policy.RuntimeClassName,
		SchedulerName:                 policy.SchedulerName,
		HostUsers:                     policy.HostUsers,
		TerminationGracePeriodSeconds: policy.TerminationGracePeriodSeconds,
		InitContainers:                policy.InitContainers,
		Containers:                    policy.Containers,
		Volumes:                       policy.Volumes,
	}
	if len(resources.Limits)+len(resources.Requests)+len(resources.Claims) > 0 {
		t.Resources = &resources
	}
	return templateVersion + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(text(t))))[:16]
}

func secretsOf(volumes []corev1.Volume) []string {
	var names []string
	for _, v := range volumes {
		if v.Secret != nil {
			names = append(names, v.Secret.SecretName)
		}
	}
	return names
}

// sorted copies a list whose order means nothing.
func sorted[T any](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(text(a), text(b)) })
}

// text of a value: JSON has its maps sorted and its quantities in one notation.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value) // never: all of it came as JSON
	}
	return string(encoded)
}

// podMetadata are the labels and annotations that users ask for on every Pod.
type podMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func metadata(s plan.State) podMetadata {
	policy := s.PodPolicy()
	annotations := maps.Clone(policy.Annotations)
	delete(annotations, annotationRestartedAt)
	return podMetadata{Labels: policy.Labels, Annotations: annotations}
}

// relabelPatch is the merge patch that does it: what was once given and is no longer asked for goes, what others set
// stays.
func relabelPatch(s plan.State, pod *corev1.Pod) map[string]any {
	var given podMetadata
	_ = json.Unmarshal([]byte(pod.Annotations[annotationMetadata]), &given) // nothing is known to have been given
	want := metadata(s)
	annotations := difference(given.Annotations, want.Annotations)
	annotations[annotationMetadata] = text(want)
	if pod.Annotations[annotationTemplate] == "" && madeFor(s, pod) || resized(s, pod) {
		annotations[annotationTemplate] = template(s)
	}
	if resized(s, pod) && pod.Annotations[annotationResize] != "" {
		annotations[annotationResize] = nil
	}
	labels := difference(given.Labels, want.Labels)
	own := memberLabels(s, pod.Name, incarnationOf(s, pod))
	maps.DeleteFunc(labels, func(key string, _ any) bool { return own[key] != "" || key == labelVoter })
	return map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}}
}

// difference takes a map from given to want, as a merge patch does.
func difference(given, want map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range given {
		patch[key] = nil
	}
	for key, value := range want {
		patch[key] = value
	}
	return patch
}
