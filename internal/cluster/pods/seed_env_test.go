package pods

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

// Backups went through the administrator's proxy, and the seed of a restore did not. No other container of a member gets the settings, so a change of
// them restarts no member.
func TestOnlyTheSeedReachesStoresByTheSettingsOfTheOperators(t *testing.T) {
	env := map[string]string{}
	for _, name := range reach.Variables {
		env[name] = "a$(b)"
	}
	seeds := 0
	for name, test := range clustertest.PodTests {
		t.Run(name, func(t *testing.T) {
			pod := NewPod(test.State, test.Member, clustertest.SeedImage)
			AddSeedEnv(pod, env)
			for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				found := map[string]string{}
				for _, v := range c.Env {
					if _, set := env[v.Name]; set {
						found[v.Name] = v.Value
					}
				}
				switch {
				case c.Name != SeedContainer && len(found) > 0:
					t.Errorf("%s has %v", c.Name, found)
				case c.Name == SeedContainer:
					seeds++
					if len(found) != len(env) || found[reach.EnvCACertificates] != "a$$(b)" {
						t.Errorf("the seed has %v", maps.Clone(found))
					}
				}
			}
		})
	}
	if seeds == 0 {
		t.Error("no Pod has a seed")
	}
	AddSeedEnv(&corev1.Pod{}, env)
}
