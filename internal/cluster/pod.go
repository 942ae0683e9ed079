package cluster

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

const (
	seedContainer = "restore"
	dataVolume    = "etcd-data"
	// credentialsVolume of a seed is the Secret that it reads the store with.
	credentialsVolume = "store-credentials"
	dataMount         = "/var/etcd"
	dataDir           = dataMount + "/data"
	// labelVoter is set once a member votes; the client Service selects it.
	labelVoter = v1beta2.Group + "/voter"
	// annotationInitialSize holds with how many members a cluster is bootstrapped.
	annotationInitialSize = v1beta2.Group + "/initial-size"
	// annotationStart holds how the member's etcd comes up.
	annotationStart = v1beta2.Group + "/start"
	// annotationImage holds the image that the operator asked for. Admission may set another one: that of a mirror, or a
	// digest.
	annotationImage = v1beta2.Group + "/image"
	// annotationTrust holds the fingerprint of the authorities that the member was started with.
	annotationTrust = v1beta2.Group + "/trust"
	// annotationLoaded holds the fingerprint of the certificates that the Pod was last marked with; see loadCertificates.
	annotationLoaded = v1beta2.Group + "/certificates"
	// nonRoot is the user of every container without a security context of the user's.
	nonRoot int64 = 65532
	// farewell is for how many seconds a member that is asked to stop continues to serve: in that time the client Service
	// ceases to lead to it, so that a client which loses it then is not led back to it, to wait for its next try.
	farewell int64 = 1
)

// newPod is the Pod of a member. seedImage is the image of restore-operator, for StartSeed.
func newPod(s plan.State, m plan.CreateMember, seedImage string) *corev1.Pod {
	policy := s.PodPolicy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   s.Namespace,
			Name:        m.Name,
			Labels:      podLabels(s, m),
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
			TopologySpreadConstraints:    topologySpread(s),
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
	if m.Start == plan.StartSeed && s.Request != nil {
		addSeed(s, pod, m, seedImage)
	}
	return pod
}

func podLabels(s plan.State, m plan.CreateMember) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, s.PodPolicy().Labels)
	maps.Copy(labels, memberLabels(s, m.Name, m.Incarnation))
	if m.Start == plan.StartForce {
		// No Service selects it: what a client wrote now could be lost if etcd were restarted in place with the flag.
		delete(labels, v1beta2.LabelApp)
		return labels
	}
	mayVote := m.Start != plan.StartJoin && (m.Start != plan.StartRejoin || s.MayVote(m.Name))
	if mayVote && !s.Fenced(m.Name) {
		labels[labelVoter] = "true"
	}
	return labels
}

// memberLabels are those of a member's Pod and volume.
func memberLabels(s plan.State, member string, incarnation int32) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:         v1beta2.AppName,
		v1beta2.LabelCluster:     s.Name,
		v1beta2.LabelMember:      member,
		v1beta2.LabelIncarnation: strconv.Itoa(int(incarnation)),
		v1beta2.LabelClusterUID:  string(s.UID),
	}
}

func podAnnotations(s plan.State, m plan.CreateMember) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, s.PodPolicy().Annotations)
	annotations[v1beta2.AnnotationVersion] = s.VersionFor(m.Incarnation)
	annotations[annotationStart] = string(m.Start)
	annotations[annotationImage] = s.ImageFor(m.Incarnation)
	if s.Certificates.Trust != "" {
		annotations[annotationTrust], annotations[annotationLoaded] = s.Certificates.Trust, s.Certificates.Loaded
	}
	annotations[annotationTemplate], annotations[annotationMetadata] = template(s), text(metadata(s))
	if m.InitialSize > 0 {
		annotations[annotationInitialSize] = strconv.Itoa(m.InitialSize)
	}
	if makesData(m.Start) && !m.Waits {
		annotations[annotationInitialCluster] = initialMembers(s, m)
	}
	return annotations
}

func etcdContainer(s plan.State, m plan.CreateMember) corev1.Container {
	policy := s.PodPolicy()
	startup, liveness, readiness := probes(s, m.Incarnation)
	args := etcdArgs(s, m)
	container := corev1.Container{
		Name:  plan.EtcdContainer,
		Image: s.ImageFor(m.Incarnation),

		ImagePullPolicy: pullPolicy(s),

		Command:   append([]string{"/usr/local/bin/etcd"}, args...),
		Env:       etcdEnv(policy.EtcdEnv, s.VersionFor(m.Incarnation), args),
		Resources: policy.Resources,
		Ports: []corev1.ContainerPort{
			{Name: "server", ContainerPort: v1beta2.PeerPort},
			{Name: "client", ContainerPort: v1beta2.ClientPort},
			{Name: "metrics", ContainerPort: v1beta2.MetricsPort},
		},
		VolumeMounts:    append([]corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}}, tlsMounts(s)...),
		StartupProbe:    startup,
		LivenessProbe:   liveness,
		ReadinessProbe:  readiness,
		SecurityContext: containerSecurity(),
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: farewell}}},
		// What etcd said last is what the status says of a member that keeps ending.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if makesData(m.Start) {
		container.Env = append([]corev1.EnvVar{fromAnnotation(envInitialCluster, annotationInitialCluster)}, container.Env...)
	}
	if m.Waits {
		untilAdded(&container)
	}
	return container
}

// pullPolicy of etcd's image, empty for Kubernetes' default.
func pullPolicy(s plan.State) corev1.PullPolicy {
	if s.Spec.ImagePolicy == nil {
		return ""
	}
	return s.Spec.ImagePolicy.PullPolicy
}

// probes ask over plain HTTP. Liveness must not depend on quorum, or losing it would restart every member:
// /livez is there since 3.6, /health?serializable=true since 3.5. A member whose space is used up serves reads and
// deletions, which is the way out: it is neither restarted nor taken from the clients for that. 3.4 is never asked for
// /health: it writes each such question into its raft log, as a request of the v2 API, over which 3.6 panics.
// A member that reads its database when it starts, or is defragmented, answers nobody: how long it may is for the plan to say.
// A member with a CORRUPT alarm serves reads, and spec.readOnly is such an alarm, so it is not taken from the clients for that, either.
// Probes are no part of what a Pod is made for: Pods with other ones run on.
func probes(s plan.State, incarnation int32) (startup, liveness, readiness *corev1.Probe) {
	get := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(v1beta2.MetricsPort)}}
	}
	live, ready := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(v1beta2.PeerPort)}}, get("/health?exclude=NOSPACE")
	runs, known := etcdversion.Parse(s.VersionFor(incarnation))
	switch {
	case known && !runs.Before(etcdversion.MustParse("3.6.0")):
		live, ready = get("/livez"), get(pathReady)
	case known && !runs.Before(etcdversion.MustParse("3.5.0")):
		live = get("/health?serializable=true&exclude=NOSPACE")
	case known:
		ready = get("/metrics")
	}
	const everySecond, everyTen = 1, 10
	return &corev1.Probe{ProbeHandler: live, PeriodSeconds: everySecond, TimeoutSeconds: 3, FailureThreshold: failures(s.StartupBudget(), everySecond)},
		&corev1.Probe{ProbeHandler: live, PeriodSeconds: everyTen, TimeoutSeconds: 10, FailureThreshold: failures(s.LivenessBudget(), everyTen)},
		&corev1.Probe{ProbeHandler: ready, PeriodSeconds: 1, TimeoutSeconds: 3, FailureThreshold: 3}
}

// pathReady is what the readiness probe asks of etcd 3.6 and newer. pathWithAlarm is what the probe of an earlier operator asks.
const pathReady, pathWithAlarm = "/readyz?exclude=data_corruption", "/readyz"

// probesAlarm reports whether a Pod is not ready while a CORRUPT alarm is on.
func probesAlarm(c corev1.Container) bool {
	probe := c.ReadinessProbe
	return probe != nil && probe.HTTPGet != nil && probe.HTTPGet.Path == pathWithAlarm
}

// failures are how many probes may fail within a time.
func failures(budget time.Duration, period int32) int32 {
	return int32(budget/time.Second)/period + 1
}

func podSecurity(policy v1beta2.PodPolicy) *corev1.PodSecurityContext {
	if policy.SecurityContext != nil {
		return policy.SecurityContext
	}
	return &corev1.PodSecurityContext{
		RunAsNonRoot:        ptr.To(true),
		RunAsUser:           ptr.To(nonRoot),
		RunAsGroup:          ptr.To(nonRoot),
		FSGroup:             ptr.To(nonRoot),
		FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// affinity spreads members over hosts: as a wish by default, as a must with antiAffinity.
func affinity(s plan.State, m plan.CreateMember) *corev1.Affinity {
	policy := s.PodPolicy()
	if policy.Affinity != nil {
		return policy.Affinity
	}
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: s.Name}},
		TopologyKey:   corev1.LabelHostname,
	}
	zone := preferredZone(s, m)
	if policy.AntiAffinity {
		return &corev1.Affinity{NodeAffinity: zone, PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
	return &corev1.Affinity{NodeAffinity: zone, PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term}},
	}}
}

// preferredZone lets a member that takes the place of another, which still runs, prefer its zone. It is nil for all others.
func preferredZone(s plan.State, m plan.CreateMember) *corev1.NodeAffinity {
	if m.Start != plan.StartJoin {
		return nil
	}
	zone := s.PreferredZone(m.Name)
	if zone == "" {
		return nil
	}
	return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
		Weight: 100,
		Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}},
	}}}
}

func volumeOfData(s plan.State, member string) corev1.Volume {
	volume := corev1.Volume{Name: dataVolume}
	if s.Durable() {
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member}
	} else {
		volume.EmptyDir = s.Spec.Pod.EmptyDir
	}
	return volume
}

// volumesBeside are those of the user's containers.
func volumesBeside(policy v1beta2.PodPolicy) []corev1.Volume {
	var volumes []corev1.Volume
	for _, v := range policy.Volumes {
		volumes = append(volumes, v.Volume())
	}
	return volumes
}

// newVolume is the PersistentVolumeClaim of a member. It is empty in each case: a data source would give it the data, and so the
// ID, of another member.
func newVolume(s plan.State, m plan.CreateMember) *corev1.PersistentVolumeClaim {
	spec := corev1.PersistentVolumeClaimSpec{}
	if given := s.PodPolicy().PersistentVolumeClaimSpec; given != nil {
		given.DeepCopyInto(&spec)
		spec.DataSource, spec.DataSourceRef = nil, nil
	}
	if len(spec.AccessModes) == 0 {
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if spec.Resources.Requests == nil {
		spec.Resources.Requests = corev1.ResourceList{}
	}
	spec.Resources.Requests[corev1.ResourceStorage] = s.StorageRequest()
	volume := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: m.Name, Labels: memberLabels(s, m.Name, m.Incarnation)},
		Spec:       spec,
	}
	volume.Annotations = map[string]string{v1beta2.AnnotationClusterUID: string(s.UID)}
	if m.Waits {
		volume.Annotations[annotationUnused] = "true"
	}
	if m.InitialSize > 0 {
		volume.Annotations[annotationInitialSize] = strconv.Itoa(m.InitialSize)
	}
	return volume
}

// addSeed puts the init container that restores the snapshot before etcd. The credentials are in this Pod only.
func addSeed(s plan.State, pod *corev1.Pod, m plan.CreateMember, image string) {
	container := corev1.Container{
		Name:                     seedContainer,
		Image:                    image,
		Args:                     seedRequest(s, m).Args(),
		Env:                      []corev1.EnvVar{fromAnnotation(seed.EnvDataRequired, annotationInitialCluster)},
		VolumeMounts:             []corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          containerSecurity(),
		Resources:                s.PodPolicy().Resources,
	}
	if secret := s.Request.Source.Secret; secret != "" {
		const name = credentialsVolume
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
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
}

// freeVolumeName returns name, or a longer one if spec.pod.volumes has a volume of that name: the API reserves only the names
// that members need.
func freeVolumeName(pod *corev1.Pod, name string) string {
	for slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
		name += "-seed"
	}
	return name
}

func seedRequest(s plan.State, m plan.CreateMember) seed.Request {
	return seed.Request{
		Source:       s.Request.Source,
		SignedURL:    s.Request.SignedURL,
		SHA256:       s.Request.SHA256,
		Size:         s.Request.Size,
		PlainSize:    s.Request.PlainSize,
		Revision:     s.Request.Revision,
		DataDir:      dataDir,
		Name:         m.Name,
		PeerURL:      s.PeerURL(m.Name),
		Token:        s.Token(m.Incarnation),
		RevisionBump: s.SeedRevisionBump(),
	}
}
