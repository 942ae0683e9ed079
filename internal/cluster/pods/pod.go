// Package pods builds the Pods and volumes of members, and compares and reads live ones.
package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const (

	// farewell is for how many seconds a member that is asked to stop continues to serve: in that time the client Service
	// ceases to lead to it, so that a client which loses it then is not led back to it, to wait for its next try.
	farewell int64 = 1
)

// NewPod is the Pod of a member. seedImage is the image of restore-operator, for StartSeed.
func NewPod(s state.State, m steps.CreateMember, seedImage string) *corev1.Pod {
	policy := s.PodPolicy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   s.Namespace,
			Name:        m.Name,
			Labels:      Labels(s, m),
			Annotations: podAnnotations(s, m),
		},
		Spec: corev1.PodSpec{
			Hostname:                     m.Name,
			Subdomain:                    s.Name,
			RestartPolicy:                corev1.RestartPolicyAlways,
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			NodeSelector:                 policy.NodeSelector,
			Tolerations:                  policy.Tolerations,
			Affinity:                     affinity(s, m),
			TopologySpreadConstraints:    TopologySpread(s),
			ImagePullSecrets:             policy.ImagePullSecrets,
			PriorityClassName:            policy.PriorityClassName,
			ServiceAccountName:           policy.ServiceAccountName,
			SecurityContext:              podSecurity(policy),
			RuntimeClassName:             policy.RuntimeClassName,
			SchedulerName:                policy.SchedulerName,
			HostUsers:                    policy.HostUsers,

			TerminationGracePeriodSeconds: policy.TerminationGracePeriodSeconds,

			InitContainers: slices.Clone(policy.InitContainers),
			Containers:     append([]corev1.Container{etcdContainer(s, m)}, policy.Containers...),
			Volumes:        slices.Concat([]corev1.Volume{volumeOfData(s, m.Name)}, tlsVolumes(s), volumesBeside(policy)),
		},
	}
	if m.Start == state.StartSeed && s.Request != nil {
		addSeed(s, pod, m, seedImage)
	}
	given, _ := services.MetadataFor(s, "Pod", m.Name)
	given.Stamp(pod)
	return pod
}

func etcdContainer(s state.State, m steps.CreateMember) corev1.Container {
	policy := s.PodPolicy()
	startup, liveness, readiness := probes(s, m.Incarnation)
	args := command.Args(s, m)
	container := corev1.Container{
		Name:  lifecycle.EtcdContainer,
		Image: s.ImageFor(m.Incarnation),

		ImagePullPolicy: pullPolicy(s),

		Command:   append([]string{"/usr/local/bin/etcd"}, args...),
		Env:       command.Env(policy.EtcdEnv, state.VersionFor(s, m.Incarnation), args),
		Resources: policy.Resources,
		Ports: []corev1.ContainerPort{
			{Name: "server", ContainerPort: v1beta2.PeerPort},
			{Name: "client", ContainerPort: v1beta2.ClientPort},
			{Name: "metrics", ContainerPort: v1beta2.MetricsPort},
		},
		VolumeMounts:    slices.Concat([]corev1.VolumeMount{{Name: DataVolume, MountPath: command.DataMount}}, tlsMounts(s), policy.VolumeMounts),
		StartupProbe:    startup,
		LivenessProbe:   liveness,
		ReadinessProbe:  readiness,
		SecurityContext: containerSecurity(),
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: farewell}}},
		// What etcd said last is what the status says of a member that keeps ending.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if command.MakesData(m.Start) {
		container.Env = append([]corev1.EnvVar{fromAnnotation(command.EnvInitialCluster, AnnotationInitialCluster)}, container.Env...)
	}
	if m.Waits {
		untilAdded(&container)
	}
	return container
}
