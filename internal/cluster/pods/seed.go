package pods

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

const (

	// CredentialsVolume of a seed is the Secret that it reads the store with.
	CredentialsVolume = "store-credentials"
)

// seedOf reads how the init container that restores a snapshot fares.
func seedOf(pod *corev1.Pod) *state.Seed {
	for _, c := range pod.Status.InitContainerStatuses {
		if c.Name != SeedContainer {
			continue
		}
		s := &state.Seed{Failures: c.RestartCount}
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		} else if ended.ExitCode != seed.ExitDone {
			s.Failures++
		}
		if ended != nil && ended.ExitCode != seed.ExitDone {
			s.Message = lifecycle.LastLine(ended.Message)
			s.Hopeless = ended.ExitCode == seed.ExitNever
		}
		s.Promoting, s.Planned = pod.Annotations[AnnotationPromote] != "", pod.Annotations[AnnotationPromote] == string(v1beta2.FollowPromotePlanned)
		if done := c.State.Terminated; done != nil && done.ExitCode == seed.ExitDone {
			s.DoneAt = done.FinishedAt.Time
			s.Failures = 0 // a standby may have been restarted often while it followed
			s.Promoted, s.Read = promotedOf(done.Message), readOf(done.Message)
		}
		return s
	}
	return nil
}

// promotedOf reads the termination message of a standby that was promoted. It is nil for any other seed.
func promotedOf(message string) *v1beta2.PromotedStatus {
	said := seed.Promoted{}
	if err := json.Unmarshal([]byte(message), &said); err != nil || said.Revision == 0 {
		return nil
	}
	promoted := &v1beta2.PromotedStatus{Timeline: said.Timeline, Revision: said.Revision, Planned: said.Planned}
	if !said.Time.IsZero() && bounded.Time(said.Time) {
		promoted.Time = ptr.To(metav1.NewTime(said.Time).Rfc3339Copy())
	}
	return promoted
}

// readOf reads the termination message of a seed that was restored from a volume. It is nil for any other seed.
func readOf(message string) *v1beta2.VolumeRead {
	said := seed.VolumeRead{}
	if err := json.Unmarshal([]byte(message), &said); err != nil {
		return nil
	}
	return said.Volume
}

// addPodDir lets a standby read the annotation that promotes it.
func addPodDir(pod *corev1.Pod, container *corev1.Container) {
	name := freeVolumeName(pod, "pod")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: seed.PromoteFile, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + AnnotationPromote + "']"},
		}}},
	}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: seed.PodDir, ReadOnly: true})
}

// addSourceVolume lets the seed read the data directory on a volume. The volume is mounted for reading only as a whole, so that the kubelet does not change
// the owners of its files.
func addSourceVolume(pod *corev1.Pod, container *corev1.Container, claim string) {
	name := freeVolumeName(pod, "source")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: true},
	}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: seed.VolumeDir, ReadOnly: true})
}

// addSeed puts the init container that restores the snapshot before etcd. The credentials are in this Pod only.
func addSeed(s state.State, pod *corev1.Pod, m steps.CreateMember, image string) {
	container := corev1.Container{
		Name:                     SeedContainer,
		Image:                    image,
		Args:                     seedRequest(s, m).Args(),
		Env:                      []corev1.EnvVar{fromAnnotation(seed.EnvDataRequired, AnnotationInitialCluster)},
		VolumeMounts:             []corev1.VolumeMount{{Name: DataVolume, MountPath: command.DataMount}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          containerSecurity(),
		Resources:                s.PodPolicy().Resources,
	}
	if secret := s.Request.Source.Secret; secret != "" {
		const name = CredentialsVolume
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			// Optional: users delete it after a restore, and the Pod must be able to start again.
			Secret: &corev1.SecretVolumeSource{SecretName: secret, Optional: ptr.To(true)},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: seed.CredentialsDir, ReadOnly: true})
	}
	if secret := s.Request.SignedURL; secret != "" {
		name := freeVolumeName(pod, "signed-url")
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			// Optional: restore-operator deletes it when the restore ends, and the Pod must be able to start again.
			Secret: &corev1.SecretVolumeSource{SecretName: secret, Optional: ptr.To(true)},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: seed.SignedURLDir, ReadOnly: true})
	}
	if s.Request.Follow != nil {
		addPodDir(pod, &container)
	}
	if s.Request.Volume != nil {
		addSourceVolume(pod, &container, s.Request.Volume.ClaimName)
	}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
}

// AddSeedEnv adds variables to the init container that restores a snapshot, if the Pod has one.
func AddSeedEnv(pod *corev1.Pod, env map[string]string) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name != SeedContainer {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: escape(env[name])})
		}
	}
}

// escape writes a value so that Kubernetes does not expand $(NAME) in it.
func escape(value string) string { return strings.ReplaceAll(value, "$(", "$$(") }

// freeVolumeName returns name, or a longer one if spec.pod.volumes has a volume of that name: the API reserves only the names
// that members need.
func freeVolumeName(pod *corev1.Pod, name string) string {
	for slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
		name += "-seed"
	}
	return name
}

func seedRequest(s state.State, m steps.CreateMember) seed.Request {
	follow := seed.Follow{}
	if f := s.Request.Follow; f != nil {
		follow = seed.Follow{Cluster: f.Cluster, UID: f.ClusterUID, ClusterID: f.ClusterID, Only: f.OnlyClusterID, As: s.Namespace + "/" + s.Request.Name}
	}
	volume := seed.Volume{}
	if v := s.Request.Volume; v != nil {
		volume = seed.Volume{Claim: v.ClaimName, Path: v.Path, EtcdVersion: state.VersionFor(s, m.Incarnation)}
	}
	return seed.Request{
		Volume:       volume,
		Follow:       follow,
		Source:       s.Request.Source,
		SignedURL:    s.Request.SignedURL,
		SHA256:       s.Request.SHA256,
		Size:         s.Request.Size,
		PlainSize:    s.Request.PlainSize,
		Revision:     s.Request.Revision,
		DataDir:      command.DataDir,
		Name:         m.Name,
		PeerURL:      state.PeerURL(s, m.Name),
		Token:        state.Token(s, m.Incarnation),
		RevisionBump: restore.SeedRevisionBump(s),
	}
}
