package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func refusedFor(d time.Duration) change {
	return func(s *state.State) { s.Restore.SeedRefusedTime = &metav1.Time{Time: s.Now.Add(-d)} }
}

func TestARefusedSeedEndsTheRestoreOnlyIfTheOldDataIsLeft(t *testing.T) {
	stopped := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].Pod = state.PodNone
		}
	}
	deleted := func(s *state.State) { s.Request = nil }
	for name, test := range map[string]struct {
		state state.State
		fails bool
		says  string
	}{
		"seeding: waits":                                         {stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked), false, "The members continue to serve."},
		"seeding: waits for just under 15m":                      {stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, refusedFor(restore.SeedGrace-time.Second)), false, "The restore fails at"},
		"seeding: fails after 15m":                               {stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, refusedFor(restore.SeedGrace)), true, "The cluster was not changed. Correct spec.pod"},
		"seeding: ignores a first refusal that is in the future": {stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, refusedFor(-time.Hour)), false, "The members continue to serve."},
		"switching: waits while the old members run":             {stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked), false, "The old members serve until the seed does."},
		"switching: waits after the old members have stopped":    {stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, stopped), false, "so clients wait."},
		"switching: fails after 15m if the old data is left":     {stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, stopped, refusedFor(restore.SeedGrace)), true, "The old members continue with their data."},
		"switching: fails at once if the EtcdRestore is deleted": {stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), deleted, stopped), true, "EtcdRestore back was deleted"},
		"switching: waits if no old data is left":                {stateWith(formed, ephemeral, members(3), restored(v1beta2.RestoreSwitching), asked, stopped, refusedFor(restore.SeedGrace)), false, "so clients wait."},
	} {
		t.Run(name, func(t *testing.T) {
			step := restore.RefuseSeed(&test.state, "exceeded quota: compute", 30*time.Second)
			fail, fails := step.(steps.FailRestore)
			wait, _ := step.(steps.Wait)
			if fails != test.fails || wait.Stalled == test.fails || !strings.Contains(fail.Message+wait.Message, test.says) || !strings.Contains(fail.Message+wait.Message, "exceeded quota: compute") {
				t.Errorf("got %+v", step)
			}
		})
	}
}

func TestARefusalIsForgottenWhenTheSeedHasAPod(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, refusedFor(time.Minute))
	if at := NewStatus(s, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.SeedRefusedTime; at == nil {
		t.Error("it is forgotten while the seed has no Pod")
	}
	aSeed(pod(state.PodStarting))(&s)
	if at := NewStatus(s, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.SeedRefusedTime; at != nil {
		t.Errorf("the time is still %s", at)
	}
}
