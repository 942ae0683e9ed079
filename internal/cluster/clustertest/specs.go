package clustertest

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

const (
	// SeedImage is the image of restore-operator.
	SeedImage = "registry.example/restore-operator:v1"
	// PeersFlag is a value of the flag with the peers of all members.
	PeersFlag = `{
	"operator": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}, "podSelector": {"matchLabels": {"component": "cluster-operator"}}}],
	"clients": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}, "podSelector": {"matchLabels": {"component": "backup-operator"}}}],
	"metrics": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]}`
)

// podTest is a Pod: that of a member of a state.
type podTest struct {
	State  state.State
	Member steps.CreateMember
}

// ErrText is an error with that text.
type ErrText string

// Ended gives a Pod the status of one whose containers have ended, as the kubelet reported. If its node was deleted, only the garbage collector of Kubernetes
// set its phase. A process may still run there.
func Ended(pod *corev1.Pod, running bool) *corev1.Pod {
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: lifecycle.EtcdContainer}}}
	if running {
		pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	} else {
		pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{}
	}
	return pod
}

func fullOptions() *v1beta2.EtcdPolicy {
	return &v1beta2.EtcdPolicy{
		QuotaBackendBytes: ptr.To(resource.MustParse("4Gi")),
		AutoCompaction:    &v1beta2.AutoCompactionPolicy{Mode: v1beta2.AutoCompactionPeriodic, Retention: "5m"},
		HeartbeatInterval: &metav1.Duration{Duration: 200 * time.Millisecond},
		ElectionTimeout:   &metav1.Duration{Duration: 2 * time.Second},
		LogLevel:          "warn",
		MaxRequestBytes:   ptr.To(resource.MustParse("4Mi")),
		SnapshotCount:     ptr.To(int64(5000)),
	}
}

// WithOptions sets options of etcd and an image.
func WithOptions(s *state.State) {
	s.Spec.Etcd = fullOptions()
	s.Spec.ImagePolicy = &v1beta2.ImagePolicy{Repository: "registry.k8s.io/etcd", Tag: "{version}-0", PullPolicy: corev1.PullAlways}
}

// WithContainers adds containers and volumes of the user.
func WithContainers(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{
		RuntimeClassName: ptr.To("gvisor"), SchedulerName: "mine", HostUsers: ptr.To(false), TerminationGracePeriodSeconds: ptr.To(int64(60)),
		InitContainers: []corev1.Container{{Name: "log", Image: "log:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
		Containers:     []corev1.Container{{Name: "proxy", Image: "proxy:1", VolumeMounts: []corev1.VolumeMount{{Name: "conf", MountPath: "/conf"}}}},
		Volumes:        []v1beta2.PodVolume{{Name: "conf", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}}}},
	}
}

// FullPolicy sets every field that users have.
func FullPolicy() v1beta2.PodPolicy {
	p := *EveryField.DeepCopy()
	p.PriorityClassName, p.ServiceAccountName = "system-cluster-critical", "etcd"
	p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}
	return p
}

// EveryField of the archived operator's pod policy.
var EveryField = v1beta2.PodPolicy{
	Labels:             map[string]string{"team": "storage"},
	Annotations:        map[string]string{"note": "kept"},
	NodeSelector:       map[string]string{"disk": "fast"},
	AntiAffinity:       true,
	Tolerations:        []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
	Resources:          corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
	EtcdEnv:            []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "1073741824"}},
	SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(9000))},
	ImagePullSecrets:   []corev1.LocalObjectReference{{Name: "registry"}},
	DNSTimeoutInSecond: 7,
	BusyboxImage:       "busybox:old",
	ClusterDomain:      ".cluster.local",
	PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		StorageClassName: ptr.To("fast"),
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	},
}

// FromBucket is a restore from a snapshot in a bucket of S3.
func FromBucket(s *state.State) {
	Asked(s)
	s.Request.Source = v1beta2.RestoreSource{
		StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "etcd/$(HOME).db", Endpoint: "http://s3:7070", Region: "eu-west-1", ForcePathStyle: true, Secret: "aws",
	}
	s.Request.SHA256, s.Request.Size, s.Request.RevisionBump = "ab", 20512, 1000000000
}

// FromArchive is a standby that is to be promoted.
func FromArchive(s *state.State) {
	s.Request.Source.Key = "daily/ns/source/"
	s.Request.Follow = &state.FollowRequest{Cluster: "ns/source", ClusterUID: "uid-source", ClusterID: "00000000000000aa", Promote: v1beta2.FollowPromoteNow}
}

// BySignedURL is a restore by a URL that the operator has signed.
func BySignedURL(s *state.State) {
	s.Request.Source.Secret, s.Request.SignedURL = "", "etcdrestore-uid"
}

// PodTests are the Pods that are kept in testdata, each under its name.
var PodTests = map[string]podTest{
	"new":         {State: State(plantest.Initial(3), plantest.Begun), Member: steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 3, Start: state.StartNew}},
	"join":        {State: State(plantest.Formed, plantest.Members(2), plantest.With(2, plantest.JustAdded)), Member: steps.CreateMember{Name: plantest.NameOf(2), Incarnation: 1, Start: state.StartJoin}},
	"wait":        {State: State(plantest.Formed, plantest.Members(3)), Member: steps.CreateMember{Name: plantest.NameOf(3), Incarnation: 1, Start: state.StartJoin, Waits: true}},
	"rejoin":      {State: State(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod)), Member: steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
	"force":       {State: State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), Consenting, Forcing(0)), Member: steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartForce}},
	"seed":        {State: State(plantest.Formed, plantest.Members(3), Restored(v1beta2.RestoreSeeding), FromBucket), Member: steps.CreateMember{Name: SeedName, Incarnation: 2, Start: state.StartSeed}},
	"seed-signed": {State: State(plantest.Formed, plantest.Members(3), Restored(v1beta2.RestoreSeeding), FromBucket, BySignedURL), Member: steps.CreateMember{Name: SeedName, Incarnation: 2, Start: state.StartSeed}},
	"standby":     {State: State(Restored(v1beta2.RestoreSeeding), FromBucket, FromArchive), Member: steps.CreateMember{Name: SeedName, Incarnation: 2, Start: state.StartSeed}},
	"tls":         {State: State(plantest.Formed, plantest.Members(3), plantest.WithTLS), Member: steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
	"emptydir":    {State: State(plantest.Ephemeral), Member: steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 3, Start: state.StartNew}},
	"policy":      {State: State(plantest.Initial(1), plantest.Begun, plantest.Policy(EveryField)), Member: steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 1, Start: state.StartNew}},
	"old-etcd":    {State: State(plantest.Initial(1), plantest.Begun, plantest.OfVersion("3.2.13")), Member: steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 1, Start: state.StartNew}},
	"options":     {State: State(plantest.Formed, plantest.Members(3), WithOptions), Member: steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
	"beside":      {State: State(plantest.Formed, plantest.Members(3), WithContainers), Member: steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
}

func (e ErrText) Error() string { return string(e) }

// List returns a list of resources, each written as "cpu=1".
func List(pairs ...string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, _ := strings.Cut(pair, "=")
		all[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return all
}

// WithResources sets the resources of etcd.
func WithResources(requests, limits corev1.ResourceList) plantest.Change {
	return plantest.Policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}})
}

// FullService sets every field of spec.service.
var FullService = v1beta2.ServicePolicy{
	Type:                     corev1.ServiceTypeLoadBalancer,
	Labels:                   map[string]string{"team": "storage"},
	Annotations:              map[string]string{"lb.example/internal": "true"},
	LoadBalancerClass:        ptr.To("internal"),
	LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
	TrafficDistribution:      ptr.To("PreferClose"),
	ExternalTrafficPolicy:    corev1.ServiceExternalTrafficPolicyLocal,
}

// WithService sets spec.service.
func WithService(p v1beta2.ServicePolicy) plantest.Change {
	return func(s *state.State) { s.Spec.Service = &p }
}

// AheadName is the name of a member that the operator prepares before it is needed.
var AheadName = plantest.NameOf(3)

// Completed gives a Pod what kubelet and API server add when it runs.
func Completed(pod *corev1.Pod) *corev1.Pod {
	c := &pod.Spec.Containers[0]
	for name, limit := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit
		}
	}
	pod.UID = "uid-pod"
	has := c.Resources
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Resources: &has, AllocatedResources: has.Requests,
	}}}
	return pod
}
