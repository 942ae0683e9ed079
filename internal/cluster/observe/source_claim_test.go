package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The cache may show the claim from before, and a seed would restore what another one has.
func TestTheClaimOfASeedIsReadPastTheCacheWhenItCounts(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kept", UID: "uid-kept"}}
	for name, c := range map[string]struct {
		claim string
		step  v1beta2.RestoreStep
		seed  func(*state.Member)
		want  *types.UID
	}{
		"before the seed mounts it":  {"kept", v1beta2.RestoreSeeding, nil, new(types.UID("uid-kept"))},
		"if it was deleted":          {"other", v1beta2.RestoreSeeding, nil, new(types.UID(""))},
		"while the seed reads":       {"kept", v1beta2.RestoreSeeding, func(m *state.Member) { m.Pod, m.Seed = state.PodStarting, &state.Seed{} }, nil},
		"when the seed has read it":  {"kept", v1beta2.RestoreSeeding, func(m *state.Member) { m.Pod, m.Seed = state.PodRunning, &state.Seed{DoneAt: plantest.Noon} }, new(types.UID("uid-kept"))},
		"after the switch has begun": {"kept", v1beta2.RestoreSwitching, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o, v := observerBeside(t, claim)
			v.State = clustertest.State(plantest.Formed, plantest.Restored(c.step), plantest.Asked)
			v.Request.Volume = &v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: c.claim}}
			if c.seed != nil {
				plantest.ASeed(c.seed)(&v.State)
			}
			if err := o.observeSourceClaim(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if got := v.SourceClaim; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
