package kubecache

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// Slim removes from an object of an EtcdCluster what no pass reads, before it enters the cache: with a thousand clusters that is
// most of the cache. Objects from the cache are therefore never written as a whole. Whoever reads another field adds it here.
func Slim(object client.Object) {
	object.SetManagedFields(nil)
	object.SetGenerateName("")
	switch object := object.(type) {
	case *corev1.Pod:
		if object.Annotations[pods.AnnotationTemplate] == "" && HeldSize(object) <= maxComparedPod {
			return // madeFor compares all of it
		}
		object.Spec, object.Status = slimSpec(object.Spec), slimStatus(object.Status)
	case *corev1.PersistentVolumeClaim:
		spec, status := object.Spec, object.Status
		object.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: shared(spec.StorageClassName), Resources: corev1.VolumeResourceRequirements{Requests: spec.Resources.Requests}, VolumeName: spec.VolumeName}
		object.Status = corev1.PersistentVolumeClaimStatus{
			Phase: status.Phase, Capacity: status.Capacity, Conditions: status.Conditions, AllocatedResourceStatuses: status.AllocatedResourceStatuses,
		}
	}
	ShareMeta(object)
}

// maxComparedPod is how many bytes of memory a Pod takes at most that madeFor compares. Those that the releases before there were notes have made are smaller,
// because users could not add containers.
const maxComparedPod = 64 << 10

// slimSpec keeps of a Pod's spec what ObservePod, ObserveResize, require, waits and UsedBy read.
func slimSpec(spec corev1.PodSpec) corev1.PodSpec {
	kept := corev1.PodSpec{NodeName: spec.NodeName, Overhead: spec.Overhead}
	for _, volume := range spec.Volumes {
		if volume.Name == pods.CredentialsVolume || (volume.Name == pods.DataVolume && volume.EmptyDir != nil) {
			kept.Volumes = append(kept.Volumes, volume)
		}
	}
	kept.InitContainers, kept.Containers = slimContainers(spec.InitContainers), slimContainers(spec.Containers)
	return kept
}

func slimContainers(containers []corev1.Container) []corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	kept := make([]corev1.Container, 0, len(containers))
	for _, c := range containers {
		slimmed := corev1.Container{Name: Words.Share(c.Name), Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		if c.Name == lifecycle.EtcdContainer {
			slimmed.Image, slimmed.Command, slimmed.Env = Words.Share(c.Image), slimCommand(c.Command), slimEnv(c.Env)
			if probe := c.StartupProbe; probe != nil {
				slimmed.StartupProbe = &corev1.Probe{FailureThreshold: probe.FailureThreshold, PeriodSeconds: probe.PeriodSeconds}
			}
		}
		if c.Name == lifecycle.EtcdContainer && (pods.ProbesAlarm(c) || pods.ReadyAlone(c)) {
			slimmed.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: c.ReadinessProbe.HTTPGet.Path}}}
		}
		if c.Name == pods.SeedContainer {
			slimmed.Env = slimEnv(c.Env)
		}
		kept = append(kept, slimmed)
	}
	return kept
}

// slimCommand keeps the flags that PeersOf, TLSOf, ChecksName, QuotaOf and StartOf read.
func slimCommand(args []string) []string {
	var kept []string
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, command.PeerCertFlag), strings.HasPrefix(arg, command.ServerCertFlag), strings.HasPrefix(arg, command.PeerNameFlag), strings.HasPrefix(arg, command.ClientNameFlag), strings.HasPrefix(arg, command.QuotaFlag), arg == command.ForceFlag:
			kept = append(kept, Words.Share(arg))
		case strings.HasPrefix(arg, command.InitialClusterFlag):
			kept = append(kept, arg)
		}
	}
	return slices.Clip(kept)
}

func slimEnv(env []corev1.EnvVar) []corev1.EnvVar {
	var kept []corev1.EnvVar
	for _, e := range env {
		if e.Name == state.QuotaVariable || e.Name == lifecycle.EnvAdded || e.Name == command.EnvInitialCluster || e.Name == seed.EnvDataRequired {
			kept = append(kept, e)
		}
	}
	return slices.Clip(kept)
}

func slimStatus(status corev1.PodStatus) corev1.PodStatus {
	kept := corev1.PodStatus{
		Phase: status.Phase, Reason: status.Reason, Message: status.Message, PodIP: status.PodIP, StartTime: status.StartTime, Conditions: status.Conditions,
		InitContainerStatuses: status.InitContainerStatuses, ContainerStatuses: status.ContainerStatuses,
	}
	kept.Phase = corev1.PodPhase(Words.Share(string(kept.Phase)))
	for i := range kept.Conditions {
		c := &kept.Conditions[i]
		c.Type, c.Status = corev1.PodConditionType(Words.Share(string(c.Type))), corev1.ConditionStatus(Words.Share(string(c.Status)))
	}
	for _, statuses := range [][]corev1.ContainerStatus{kept.InitContainerStatuses, kept.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			c.Name, c.Image = Words.Share(c.Name), Words.Share(c.Image)
			c.ImageID, c.ContainerID, c.VolumeMounts, c.User, c.AllocatedResourcesStatus = "", "", nil, nil, nil
		}
	}
	return kept
}
