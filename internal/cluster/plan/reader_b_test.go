package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The seed was ready and the data was saved three hours ago. Then the cluster was paused, its seed was lost, or no
// cluster-operator ran, and the old members acknowledged writes.
func TestASwitchNeedsASafetySnapshotThatIsRecent(t *testing.T) {
	s := state(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Safety = v1beta2.SafetySnapshotRequired
	ago := noon.Add(-3 * time.Hour)
	s.Restore.SeedReadyTime = &metav1.Time{Time: ago}
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: 42, Time: metav1.Time{Time: ago}}
	if step, is := Plan(s).(BeginSwitch); is {
		t.Errorf("the members are stopped with a required safety snapshot that lacks the writes of 3 hours: %+v", step)
	}
	s.Spec.Paused = true
	if _, is := Plan(s).(BeginSwitch); is {
		t.Error("a paused cluster is switched")
	}
}
