package pods

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// With a JWT key for its tokens, etcd does not start without the file. A cluster could then not be restored, or not be recovered.
func TestEtcdMountsTheVolumesOfTheUserInEachPod(t *testing.T) {
	asked := []corev1.VolumeMount{{Name: "jwt", MountPath: "/etc/jwt", ReadOnly: true}}
	for name, test := range clustertest.PodTests {
		s := test.State
		before := NewPod(s, test.Member, clustertest.SeedImage)
		given := s.PodPolicy()
		policy := *given.DeepCopy()
		policy.VolumeMounts = asked
		policy.Volumes = append(policy.Volumes, v1beta2.PodVolume{Name: "jwt", Secret: &corev1.SecretVolumeSource{SecretName: "jwt"}})
		s.Spec.Pod = &policy
		pod := NewPod(s, test.Member, clustertest.SeedImage)
		want := slices.Concat(before.Spec.Containers[0].VolumeMounts, asked)
		if diff := cmp.Diff(want, pod.Spec.Containers[0].VolumeMounts); diff != "" {
			t.Errorf("%s: mounts of etcd (-want +got):\n%s", name, diff)
		}
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "jwt" && v.Secret != nil }) {
			t.Errorf("%s: the Pod lacks the volume", name)
		}
		var m state.Member
		if ObserveTemplate(s, &m, before); !m.Outdated {
			t.Errorf("%s: a member without the mount is not restarted", name)
		}
		again := state.Member{}
		if ObserveTemplate(s, &again, pod); again.Outdated {
			t.Errorf("%s: a member with the mount is restarted", name)
		}
	}
}

// A mount over one of these directories hides the data or the certificates from etcd.
func TestTheAPIRefusesMountsOverAllThatEtcdMounts(t *testing.T) {
	source, err := os.ReadFile("../../../api/v1beta2/pod.go")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(at string) bool {
		return strings.Contains(string(source), "'"+at+"'") || strings.Contains(string(source), "!m.mountPath.startsWith('"+at+"/')")
	}
	for name, test := range clustertest.PodTests {
		for _, mount := range NewPod(test.State, test.Member, clustertest.SeedImage).Spec.Containers[0].VolumeMounts {
			under := mount.MountPath == command.DataMount || strings.HasPrefix(mount.MountPath, "/etc/etcdtls/")
			if !under || !refused("/var/etcd") || !refused("/etc/etcdtls") {
				t.Errorf("%s: the API does not refuse a mount over %s", name, mount.MountPath)
			}
			for above := path.Dir(mount.MountPath); above != "/"; above = path.Dir(above) {
				if !refused(above) && !strings.HasPrefix(above, "/etc/etcdtls/") {
					t.Errorf("%s: the API does not refuse a mount over %s", name, above)
				}
			}
		}
	}
}
