package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An election, a reset connection or one 503 of the store: cluster-operator would wait for 14 minutes more.
func TestOneFailedAttemptDoesNotGiveUpTheSafetySnapshot(t *testing.T) {
	s := given(seedReady, withSafety(Safety{Progress: ProofFailed, Message: "no voter has a quorum: etcdserver: leader changed", Ended: now.Add(-time.Second)}))
	if step, is := next(s).(RecordSafety); is {
		t.Errorf("the restore goes on without a safety snapshot a minute after the seed was ready: %+v", step.Snapshot)
	}
}

func TestAFailedRestoreIsKeptUntilItsClusterHasFormed(t *testing.T) {
	ttl := int32(60)
	s := given(withoutCluster)
	s.Restore.Spec.TTLSecondsAfterFinished = &ttl
	at := s.Now.Add(-time.Hour)
	s.Restore.Status.CompletionTime = metaTime(at)
	if _, is := next(s).(Expire); is {
		t.Error("the failed restore is deleted, and its cluster starts empty when it is created")
	}
}

func metaTime(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }
