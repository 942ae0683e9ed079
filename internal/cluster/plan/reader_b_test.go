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

// Its Secret was missing for three days, so a second EtcdRestore restored the cluster. Then someone creates the Secret.
func TestARestoreThatALaterOneHasReplacedIsNotBegun(t *testing.T) {
	s := state(formed, members(3))
	s.PastRestores = []v1beta2.PastRestore{{Name: "right", UID: "uid-right", SpecHash: "0123456789abcdef", Time: metav1.Time{Time: noon.Add(-71 * time.Hour)}, ClusterID: s.ClusterID}}
	forgotten := v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: "wrong", UID: "uid-wrong", CreationTimestamp: metav1.Time{Time: noon.Add(-73 * time.Hour)}},
		Spec:       v1beta2.EtcdRestoreSpec{EtcdCluster: v1beta2.ClusterReference{Name: s.Name}},
		Status: v1beta2.EtcdRestoreStatus{
			Snapshot: &v1beta2.Snapshot{Path: "b/k", SHA256: "ab"}, Source: &v1beta2.RestoreSource{Bucket: "b", Key: "k"},
			Conditions: []metav1.Condition{{Type: v1beta2.ConditionVerified, Status: metav1.ConditionTrue}},
		},
	}
	s.ChooseRestore([]v1beta2.EtcdRestore{forgotten})
	if step, is := Plan(s).(BeginRestore); is {
		t.Errorf("three days of writes are replaced by EtcdRestore %s, which is older than the one that was carried out", step.Restore.Name)
	}
}
