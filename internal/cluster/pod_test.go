package cluster

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

var update = flag.Bool("update", false, "write testdata anew")

const seedImage = "registry.example/restore-operator:v1"

// everyField of the archived operator's pod policy.
var everyField = v1beta2.PodPolicy{
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

func fromBucket(s *plan.State) {
	asked(s)
	s.Request.Source = v1beta2.RestoreSource{
		StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "etcd/$(HOME).db", Endpoint: "http://s3:7070", Region: "eu-west-1", ForcePathStyle: true, Secret: "aws",
	}
	s.Request.SHA256, s.Request.Size, s.Request.RevisionBump = "ab", 20512, 1000000000
}

func bySignedURL(s *plan.State) {
	s.Request.Source.Secret, s.Request.SignedURL = "", "etcdrestore-uid"
}

// podTests are the Pods that are kept in testdata, each under its name.
var podTests = map[string]struct {
	state  plan.State
	member plan.CreateMember
}{
	"new":         {state(initial(3), begun), plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 3, Start: plan.StartNew}},
	"join":        {state(formed, members(2), with(2, justAdded)), plan.CreateMember{Name: nameOf(2), Incarnation: 1, Start: plan.StartJoin}},
	"wait":        {state(formed, members(3)), plan.CreateMember{Name: nameOf(3), Incarnation: 1, Start: plan.StartJoin, Waits: true}},
	"rejoin":      {state(formed, members(3), with(1, withoutPod)), plan.CreateMember{Name: nameOf(1), Incarnation: 1, Start: plan.StartRejoin}},
	"force":       {state(formed, members(3), noQuorum, with(0, withoutPod), with(1, gone), with(2, gone), consenting, forcing(0)), plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartForce}},
	"seed":        {state(formed, members(3), restored(v1beta2.RestoreSeeding), fromBucket), plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}},
	"seed-signed": {state(formed, members(3), restored(v1beta2.RestoreSeeding), fromBucket, bySignedURL), plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}},
	"tls":         {state(formed, members(3), withTLS), plan.CreateMember{Name: nameOf(1), Incarnation: 1, Start: plan.StartRejoin}},
	"emptydir":    {state(ephemeral), plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 3, Start: plan.StartNew}},
	"policy":      {state(initial(1), begun, policy(everyField)), plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 1, Start: plan.StartNew}},
	"old-etcd":    {state(initial(1), begun, ofVersion("3.2.13")), plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 1, Start: plan.StartNew}},
	"options":     {state(formed, members(3), withOptions), plan.CreateMember{Name: nameOf(1), Incarnation: 1, Start: plan.StartRejoin}},
	"beside":      {state(formed, members(3), withContainers), plan.CreateMember{Name: nameOf(1), Incarnation: 1, Start: plan.StartRejoin}},
}

func TestPods(t *testing.T) {
	for name, test := range podTests {
		t.Run(name, func(t *testing.T) {
			golden(t, "pod-"+name, newPod(test.state, test.member, seedImage))
		})
	}
}

func TestVolumes(t *testing.T) {
	golden(t, "volume-default", newVolume(state(), plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 3}))
	golden(t, "volume-given", newVolume(state(policy(everyField)), plan.CreateMember{Name: nameOf(0), Incarnation: 1}))
}

func TestServices(t *testing.T) {
	golden(t, "service-headless", headlessService(state()))
	golden(t, "service-client", clientService(state(formed), plan.ApplyServices{Incarnation: 1, ClusterID: oldID}))
	golden(t, "service-client-settings", clientService(state(formed, withService(fullService)), plan.ApplyServices{Incarnation: 1, ClusterID: oldID}))
	golden(t, "service-client-unformed", clientService(state(), plan.ApplyServices{}))
}

// golden compares an object with the file of that name in testdata.
func golden(t *testing.T, name string, object any) {
	t.Helper()
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); if it is meant, run the test with -update:\n%s", path, diff)
	}
}

// TestPodsAreRestricted holds every Pod against the restricted Pod Security Standard, field by field, as
// kubernetes.io/docs/concepts/security/pod-security-standards lists them.
func TestPodsAreRestricted(t *testing.T) {
	volumes := []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for name, test := range podTests {
		if name == "policy" || name == "beside" {
			continue // its security contexts are the user's
		}
		t.Run(name, func(t *testing.T) {
			spec := newPod(test.state, test.member, seedImage).Spec
			if spec.HostNetwork || spec.HostPID || spec.HostIPC {
				t.Error("it shares namespaces with its host")
			}
			pod := spec.SecurityContext
			if pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot || pod.RunAsUser == nil || *pod.RunAsUser == 0 {
				t.Errorf("it may run as root: %+v", pod)
			}
			if pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("seccomp profile %+v", pod.SeccompProfile)
			}
			for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
				restricted(t, c)
			}
			for _, v := range spec.Volumes {
				if kind := sourceOf(t, v); !slices.Contains(volumes, kind) {
					t.Errorf("volume %s is a %s", v.Name, kind)
				}
			}
		})
	}
}

func restricted(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	switch {
	case s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
		t.Errorf("container %s may gain privileges", c.Name)
	case s.Privileged != nil && *s.Privileged:
		t.Errorf("container %s is privileged", c.Name)
	case s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0:
		t.Errorf("container %s has capabilities %+v", c.Name, s.Capabilities)
	case s.RunAsUser != nil && *s.RunAsUser == 0, s.RunAsNonRoot != nil && !*s.RunAsNonRoot:
		t.Errorf("container %s runs as root", c.Name)
	}
	for _, p := range c.Ports {
		if p.HostPort != 0 {
			t.Errorf("container %s takes port %d of its host", c.Name, p.HostPort)
		}
	}
}

// sourceOf a volume returns the one field of its source that is set.
func sourceOf(t *testing.T, v corev1.Volume) string {
	t.Helper()
	text, err := yaml.Marshal(v.VolumeSource)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for field := range fields {
		return field
	}
	return "nothing"
}

// The archived operator always put the seed on an emptyDir, regardless of the spec. The restored data was lost with the
// first Pod.
func TestTheSeedIsAsDurableAsTheOthers(t *testing.T) {
	s := state(formed, members(3), restored(v1beta2.RestoreSeeding), asked)
	created := newPod(s, plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}, "image")
	for _, volume := range created.Spec.Volumes {
		if volume.Name == dataVolume && (volume.PersistentVolumeClaim == nil || volume.PersistentVolumeClaim.ClaimName != seedName) {
			t.Errorf("its data is on %+v", volume)
		}
	}
}

// A volume that is made from a snapshot or a clone has the data and the ID of another member.
func TestNoVolumeOfAMemberIsMadeFromAnotherOne(t *testing.T) {
	source := corev1.PersistentVolumeClaimSpec{
		DataSource:    &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "prod-0"},
		DataSourceRef: &corev1.TypedObjectReference{Kind: "VolumeSnapshot", Name: "prod-0"},
	}
	s := state(policy(v1beta2.PodPolicy{PersistentVolumeClaimSpec: &source}))
	for _, start := range []plan.Start{plan.StartNew, plan.StartJoin, plan.StartRejoin, plan.StartSeed, plan.StartForce} {
		got := newVolume(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: start}).Spec
		if got.DataSource != nil || got.DataSourceRef != nil {
			t.Errorf("%s: the claim is made from %+v, %+v", start, got.DataSource, got.DataSourceRef)
		}
	}
	if source.DataSource == nil {
		t.Error("the spec has lost its data source")
	}
}
