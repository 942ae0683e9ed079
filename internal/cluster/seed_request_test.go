package cluster

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestTheSeedAddsTheRevisionBumpThatWasComputedWhenTheRestoreBegan(t *testing.T) {
	s := state(formed, members(3), restored(v1beta2.RestoreSeeding), fromBucket)
	m := plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}
	if got := seedRequest(s, m).RevisionBump; got != 1_000_000_000 {
		t.Errorf("a restore that an earlier release began adds %d, want the number of its EtcdRestore", got)
	}
	s.Restore.RevisionBump = 2_000_000_659
	if got := seedRequest(s, m).RevisionBump; got != 2_000_000_659 {
		t.Errorf("the seed adds %d, want 2000000659", got)
	}
}

func TestARestoreBySignedURLWorksBesideAVolumeOfTheSameName(t *testing.T) {
	s := state(formed, members(3), restored(v1beta2.RestoreSeeding), fromBucket, bySignedURL)
	if s.Spec.Pod == nil {
		s.Spec.Pod = &v1beta2.PodPolicy{}
	}
	s.Spec.Pod.Volumes = []v1beta2.PodVolume{{Name: "signed-url"}}
	names := map[string]int{}
	for _, v := range newPod(s, plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}, seedImage).Spec.Volumes {
		if names[v.Name]++; names[v.Name] > 1 {
			t.Errorf("volume %s occurs twice", v.Name)
		}
	}
}
