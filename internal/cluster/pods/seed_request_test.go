package pods

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestTheSeedAddsTheRevisionBumpThatWasComputedWhenTheRestoreBegan(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
	m := steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}
	if got := seedRequest(s, m).RevisionBump; got != 1_000_000_000 {
		t.Errorf("a restore that an earlier release began adds %d, want the number of its EtcdRestore", got)
	}
	s.Restore.RevisionBump = 2_000_000_659
	if got := seedRequest(s, m).RevisionBump; got != 2_000_000_659 {
		t.Errorf("the seed adds %d, want 2000000659", got)
	}
}

func TestARestoreBySignedURLWorksBesideAVolumeOfTheSameName(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket, clustertest.BySignedURL)
	if s.Spec.Pod == nil {
		s.Spec.Pod = &v1beta2.PodPolicy{}
	}
	s.Spec.Pod.Volumes = []v1beta2.PodVolume{{Name: "signed-url"}}
	names := map[string]int{}
	for _, v := range NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, clustertest.SeedImage).Spec.Volumes {
		if names[v.Name]++; names[v.Name] > 1 {
			t.Errorf("volume %s occurs twice", v.Name)
		}
	}
}
