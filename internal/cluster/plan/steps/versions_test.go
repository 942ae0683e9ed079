package steps_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A user who follows the events of an upgrade would miss when the data is ready for the other version, or would see it too early.
func TestOnlyDataThatIsReadyForAnotherVersionIsAnnounced(t *testing.T) {
	for step, announced := range map[v1beta2.VersionChangeStep]bool{v1beta2.VersionChangePreparing: false, v1beta2.VersionChangeSnapshotted: false, v1beta2.VersionChangeReady: true} {
		events := steps.Describe(state.State{}, steps.RecordVersionChange{To: "3.7", Step: step}).Events
		if is := len(events) == 1 && events[0].Reason == "VersionChangePrepared"; is != announced || len(events) > 1 {
			t.Errorf("%s: %+v", step, events)
		}
	}
}
