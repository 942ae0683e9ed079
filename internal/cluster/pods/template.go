package pods

import (
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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

	PullPolicy                    corev1.PullPolicy    `json:"pullPolicy,omitempty"`
	Etcd                          *v1beta2.EtcdPolicy  `json:"etcd,omitempty"`
	RuntimeClassName              *string              `json:"runtimeClassName,omitempty"`
	SchedulerName                 string               `json:"schedulerName,omitempty"`
	HostUsers                     *bool                `json:"hostUsers,omitempty"`
	TerminationGracePeriodSeconds *int64               `json:"terminationGracePeriodSeconds,omitempty"`
	InitContainers                []corev1.Container   `json:"initContainers,omitempty"`
	Containers                    []corev1.Container   `json:"containers,omitempty"`
	Volumes                       []v1beta2.PodVolume  `json:"volumes,omitempty"`
	VolumeMounts                  []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// templateVersion is raised when every member has to be made again because of the operator itself.
const templateVersion = "1"

// Template is the hash of what the spec asks of every member's Pod.
func Template(s state.State) string { return templateOf(s, s.PodPolicy().Resources) }

// templateOf is template with other resources.
func templateOf(s state.State, resources corev1.ResourceRequirements) string {
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
		RestartedAt:               policy.Annotations[AnnotationRestartedAt],

		PullPolicy:                    pullPolicy(s),
		Etcd:                          command.AskedOptions(s),
		RuntimeClassName:              policy.RuntimeClassName,
		SchedulerName:                 policy.SchedulerName,
		HostUsers:                     policy.HostUsers,
		TerminationGracePeriodSeconds: policy.TerminationGracePeriodSeconds,
		InitContainers:                policy.InitContainers,
		Containers:                    policy.Containers,
		Volumes:                       policy.Volumes,
		VolumeMounts:                  policy.VolumeMounts,
	}
	if len(resources.Limits)+len(resources.Requests)+len(resources.Claims) > 0 {
		t.Resources = &resources
	}
	return templateVersion + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(Text(t))))[:16]
}

// pullPolicy of etcd's image, empty for Kubernetes' default.
func pullPolicy(s state.State) corev1.PullPolicy {
	if s.Spec.ImagePolicy == nil {
		return ""
	}
	return s.Spec.ImagePolicy.PullPolicy
}
