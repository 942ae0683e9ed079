package restore_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// If a seed never serves, the restore must fail, so that its user can try another snapshot. A seed that serves must not be removed because its Pod was unready for long before.
func TestOnlyASeedThatDoesNotServeIsRemovedForItsTime(t *testing.T) {
	for name, test := range map[string]struct {
		serving, ready bool
		fails          bool
	}{
		"it serves, and its Pod is ready":         {true, true, false},
		"it serves, and its Pod is not ready":     {true, false, true},
		"it does not serve":                       {false, false, true},
		"its Pod is ready, and it does not serve": {false, true, true},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asked, plantest.Restored(v1beta2.RestoreSeeding), plantest.ASeed(plantest.Serving))
		seed := &s.Members[3]
		seed.Serving, seed.PodReady = test.serving, test.ready
		seed.UnreadySince, seed.EtcdSince = plantest.Noon.Add(-48*time.Hour), plantest.Noon.Add(-48*time.Hour)
		seed.Seed.DoneAt = plantest.Noon.Add(-47 * time.Hour)
		if _, fails := plan.Plan(s).(steps.FailRestore); fails != test.fails {
			t.Errorf("%s: %T %+v", name, plan.Plan(s), plan.Plan(s))
		}
	}
}

// Kubernetes refuses an object. If the operator took it for the seed, a restore would fail because of another member. If it missed that it is the seed, the restore
// would wait without an end.
func TestOnlyTheFirstMemberOfARestoreIsItsSeed(t *testing.T) {
	for step, is := range map[v1beta2.RestoreStep]bool{v1beta2.RestoreSeeding: true, v1beta2.RestoreSwitching: true, v1beta2.RestoreGrowing: false, v1beta2.RestoreComplete: false} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Restored(step))
		if seed := restore.IsSeed(s, plantest.SeedName); seed != is {
			t.Errorf("%s: the first member of the restore is a seed: %t", step, seed)
		}
		if restore.IsSeed(s, plantest.NameOf(1)) {
			t.Errorf("%s: a member of before is taken for the seed", step)
		}
	}
	if restore.IsSeed(plantest.StateWith(plantest.Formed, plantest.Members(3)), plantest.SeedName) {
		t.Error("without a restore there is a seed")
	}
}
