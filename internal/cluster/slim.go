package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// slim removes from an object of an EtcdCluster what no pass reads, before it enters the cache: with a thousand clusters that is
// most of the cache. Objects from the cache are therefore never written as a whole. Whoever reads another field adds it here.
func slim(object client.Object) {
	object.SetManagedFields(nil)
	object.SetGenerateName("")
	switch object := object.(type) {
	case *corev1.Pod:
		if object.Annotations[annotationTemplate] == "" && heldSize(object) <= maxComparedPod {
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
	shareMeta(object)
}

// maxComparedPod is how many bytes of memory a Pod takes at most that madeFor compares. Those that the releases before there were notes have made are smaller,
// because users could not add containers.
const maxComparedPod = 64 << 10

// slimSpec keeps of a Pod's spec what observePod, observeResize, require, waits and usedBy read.
func slimSpec(spec corev1.PodSpec) corev1.PodSpec {
	kept := corev1.PodSpec{NodeName: spec.NodeName, Overhead: spec.Overhead}
	for _, volume := range spec.Volumes {
		if volume.Name == credentialsVolume || (volume.Name == dataVolume && volume.EmptyDir != nil) {
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
		slimmed := corev1.Container{Name: words.share(c.Name), Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		if c.Name == plan.EtcdContainer {
			slimmed.Image, slimmed.Command, slimmed.Env = words.share(c.Image), slimCommand(c.Command), slimEnv(c.Env)
			if probe := c.StartupProbe; probe != nil {
				slimmed.StartupProbe = &corev1.Probe{FailureThreshold: probe.FailureThreshold, PeriodSeconds: probe.PeriodSeconds}
			}
		}
		if c.Name == plan.EtcdContainer && probesAlarm(c) {
			slimmed.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: pathWithAlarm}}}
		}
		if c.Name == seedContainer {
			slimmed.Env = slimEnv(c.Env)
		}
		kept = append(kept, slimmed)
	}
	return kept
}

// slimCommand keeps the flags that peersOf, tlsOf, checksName, quotaOf and startOf read.
func slimCommand(command []string) []string {
	var kept []string
	for _, arg := range command {
		switch {
		case strings.HasPrefix(arg, peerCertFlag), strings.HasPrefix(arg, serverCertFlag), strings.HasPrefix(arg, peerNameFlag), strings.HasPrefix(arg, clientNameFlag), strings.HasPrefix(arg, quotaFlag), arg == forceFlag:
			kept = append(kept, words.share(arg))
		case strings.HasPrefix(arg, initialClusterFlag):
			kept = append(kept, arg)
		}
	}
	return slices.Clip(kept)
}

func slimEnv(env []corev1.EnvVar) []corev1.EnvVar {
	var kept []corev1.EnvVar
	for _, e := range env {
		if e.Name == plan.QuotaVariable || e.Name == plan.EnvAdded || e.Name == envInitialCluster || e.Name == seed.EnvDataRequired {
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
	kept.Phase = corev1.PodPhase(words.share(string(kept.Phase)))
	for i := range kept.Conditions {
		c := &kept.Conditions[i]
		c.Type, c.Status = corev1.PodConditionType(words.share(string(c.Type))), corev1.ConditionStatus(words.share(string(c.Status)))
	}
	for _, statuses := range [][]corev1.ContainerStatus{kept.InitContainerStatuses, kept.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			c.Name, c.Image = words.share(c.Name), words.share(c.Image)
			c.ImageID, c.ContainerID, c.VolumeMounts, c.User, c.AllocatedResourcesStatus = "", "", nil, nil, nil
		}
	}
	return kept
}

// shareMeta has the metadata of an object share its strings with other objects, and within itself.
func shareMeta(object client.Object) {
	object.SetNamespace(words.share(object.GetNamespace()))
	owners := object.GetOwnerReferences()
	own := []string{object.GetName()}
	for i := range owners {
		o := &owners[i]
		o.APIVersion, o.Kind = words.share(o.APIVersion), words.share(o.Kind)
		o.Controller, o.BlockOwnerDeletion = sharedBool(o.Controller), sharedBool(o.BlockOwnerDeletion)
		own = append(own, string(o.UID), o.Name)
	}
	object.SetLabels(shareMap(object.GetLabels(), own))
	object.SetAnnotations(shareMap(object.GetAnnotations(), own))
}

// shareMap returns a map of the right size, whose keys are shared, and whose values are shared if they are in own.
func shareMap(of map[string]string, own []string) map[string]string {
	if len(of) == 0 {
		return nil
	}
	after := make(map[string]string, len(of))
	for key, value := range of {
		if i := slices.Index(own, value); i >= 0 {
			value = own[i]
		}
		after[words.share(key)] = value
	}
	return after
}

func shared(s *string) *string {
	if s == nil {
		return nil
	}
	return words.pointer(*s)
}

var isTrue, isFalse = true, false

func sharedBool(b *bool) *bool {
	switch {
	case b == nil:
		return nil
	case *b:
		return &isTrue
	}
	return &isFalse
}
