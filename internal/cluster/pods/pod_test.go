package pods

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPods(t *testing.T) {
	for name, test := range clustertest.PodTests {
		t.Run(name, func(t *testing.T) {
			clustertest.Golden(t, "pod-"+name, NewPod(test.State, test.Member, clustertest.SeedImage))
		})
	}
}

func TestVolumes(t *testing.T) {
	clustertest.Golden(t, "volume-default", NewVolume(clustertest.State(), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 3}))
	clustertest.Golden(t, "volume-given", NewVolume(clustertest.State(plantest.Policy(clustertest.EveryField)), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1}))
}

// TestPodsAreRestricted holds every Pod against the restricted Pod Security Standard, field by field, as
// kubernetes.io/docs/concepts/security/pod-security-standards lists them.
func TestPodsAreRestricted(t *testing.T) {
	volumes := []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for name, test := range clustertest.PodTests {
		if name == "policy" || name == "beside" {
			continue // its security contexts are the user's
		}
		t.Run(name, func(t *testing.T) {
			spec := NewPod(test.State, test.Member, clustertest.SeedImage).Spec
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
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
	created := NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, "image")
	for _, volume := range created.Spec.Volumes {
		if volume.Name == DataVolume && (volume.PersistentVolumeClaim == nil || volume.PersistentVolumeClaim.ClaimName != clustertest.SeedName) {
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
	s := clustertest.State(plantest.Policy(v1beta2.PodPolicy{PersistentVolumeClaimSpec: &source}))
	for _, start := range []state.Start{state.StartNew, state.StartJoin, state.StartRejoin, state.StartSeed, state.StartForce} {
		got := NewVolume(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: start}).Spec
		if got.DataSource != nil || got.DataSourceRef != nil {
			t.Errorf("%s: the claim is made from %+v, %+v", start, got.DataSource, got.DataSourceRef)
		}
	}
	if source.DataSource == nil {
		t.Error("the spec has lost its data source")
	}
}
