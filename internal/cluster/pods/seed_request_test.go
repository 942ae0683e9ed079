package pods

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/seed"
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

// The volume may be the last copy of the data. A mount for writing lets the kubelet change the owners of all files on it.
func TestASeedMountsTheVolumeForReadingOnly(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
	s.Request.Source, s.Request.SHA256, s.Request.PlainSize = v1beta2.RestoreSource{}, "", 0
	s.Request.Volume = &v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: "kept", Path: "data"}}
	if s.Spec.Pod == nil {
		s.Spec.Pod = &v1beta2.PodPolicy{}
	}
	s.Spec.Pod.Volumes = []v1beta2.PodVolume{{Name: "source"}}
	pod := NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, clustertest.SeedImage)
	name := ""
	for _, v := range pod.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName == "kept" {
			name = v.Name
			if !c.ReadOnly {
				t.Error("the volume is mounted for writing")
			}
		}
	}
	reads := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
	mounted := false
	for _, m := range reads.VolumeMounts {
		mounted = mounted || m.Name == name && m.ReadOnly && m.MountPath == seed.VolumeDir
	}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.Name == name {
			t.Error("etcd has the volume, too")
		}
	}
	if !mounted || name == "source" {
		t.Errorf("the volume is %q, mounted: %t", name, mounted)
	}
	request, err := seed.Parse(reads.Args)
	if want := (seed.Volume{Claim: "kept", Path: "data", EtcdVersion: s.Spec.EtcdVersion()}); err != nil || request.Volume != want {
		t.Errorf("the seed is asked for %+v, want %+v, error %v", request.Volume, want, err)
	}
}
