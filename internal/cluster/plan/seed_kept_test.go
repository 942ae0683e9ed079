package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A user removed spec.pod.emptyDir, and a restore stopped the members that still had their data in their Pods. Then the seed did not
// start, because its image could not be pulled. Only a learner was on a volume, so no old member could continue. The operator removed
// the seed with its volume, and reported that the old members continue with their data (SIM_SEED=11, world 560).
func TestASeedIsKeptIfTooFewOldVotersHaveTheirData(t *testing.T) {
	switching, stuck := restored(v1beta2.RestoreSwitching), aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable), unreadySince(16*time.Minute))
	keeps := func(holders string) steps.Step {
		return steps.Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: fmt.Sprintf("Seed %s has not started for 15m0s: why. %s, so the operator keeps the seed. To start it again, delete Pod %s. To give up its data, delete the PersistentVolumeClaim of that name, too.",
				seedName, holders, seedName),
		}
	}
	const none, one = "No voter of the old cluster has its data", "Only 1 of 3 voters of the old cluster have their data"
	learner := func(s *state.State) {
		s.Members = append(s.Members, state.Member{Name: nameOf(2), Incarnation: 1, Volume: state.VolumePresent})
	}
	planTests{
		"only a learner is on a volume": {
			stateWith(formed, members(2), stopped, with(0, gone), with(1, gone), learner, switching, asked, stuck), keeps(none),
		},
		"one voter of three is on a volume": {
			stateWith(formed, members(3), stopped, with(0, gone), with(1, gone), switching, asked, stuck), keeps(one),
		},
		"two voters of three are on volumes, so they continue": {
			stateWith(formed, members(3), stopped, with(0, gone), switching, asked, stuck),
			steps.FailRestore{Message: "Seed " + seedName + " has not started for 15m0s: why." + restore.OldContinue},
		},
		"the last data is in a Pod that is being deleted on a dead node": {
			stateWith(formed, members(3), inPods, stopped, with(2, overdue), switching, asked, stuck), keeps(none),
		},
		"the EtcdRestore is deleted, and one voter of three is on a volume": {
			stateWith(formed, members(3), stopped, with(0, gone), with(1, gone), switching, stuck), keeps(one),
		},
	}.run(t)
}

// The operator tries again until Kubernetes accepts the seed, as it does if no old data is left at all.
func TestARefusedSeedIsTriedAgainIfTooFewOldVotersHaveTheirData(t *testing.T) {
	s := stateWith(formed, members(3), stopped, with(0, gone), with(1, gone), restored(v1beta2.RestoreSwitching), asked, refusedFor(time.Hour))
	if step, waits := restore.RefuseSeed(&s, "quota", time.Minute).(steps.Wait); !waits {
		t.Errorf("1 of 3 old voters has its data, and the step is %+v", step)
	}
}
