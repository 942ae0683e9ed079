package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// progress are the steps after which a cluster is nearer to what it waits for. All others only keep something as it should be. If one of
// those counted as progress, a webhook that reverses it would begin the time of a wait again and again, and the wait never stalls.
var progress = strings.Fields(`
	AddLearner AdoptSeed AwaitSafetySnapshot BeginBootstrap BeginRecovery BeginRemoval BeginRestore BeginSwitch CancelDowngrade
	CancelRecovery CompactHistory CompleteRecovery CompleteRestore CreateMember CreateMembers CreateVolumes DefragmentMember
	DeletePod DeleteVolume DisarmAlarm EnableDowngrade EndDefragmentation FailRestore FenceWrites ForceDeletePod MoveLeader PromoteLearner PromoteStandby
	RecordForced RecordForcing RecordFormed RecordPromotion RecordVersionChange ReleaseMember RemoveMember ResizePod ReturnToSeeding
	SetAsideVolume StopMembers UnfenceWrites
`)

func TestEachStepIsProgressOrUpkeep(t *testing.T) {
	for _, step := range everyStep {
		name := reflect.TypeOf(step).Name()
		if steps.Acts(step) && slices.Contains(progress, name) == steps.Upkeep(step) {
			t.Errorf("%s: write it into the list of progress, or into upkeep", name)
		}
	}
}
