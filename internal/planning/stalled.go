package planning

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

const (
	// StalledAfter is how long an operator waits for something before a person must look: an EtcdCluster or a Secret that does not exist, say.
	StalledAfter = 5 * time.Minute
	// StalledAfterFailures is how many attempts may fail in a row before a person must look. By then, the pauses between them are 2.5 minutes or more.
	StalledAfterFailures = 6
)

// NotReadyLeft returns for how long an object that is not ready may wait until it is Stalled. It counts from when Ready became False. An object
// that is ready, or has no such condition yet, has all of the time.
func NotReadyLeft(conditions []metav1.Condition, now time.Time) time.Duration {
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || clock.Ahead(ready.LastTransitionTime.Time, now) {
		return StalledAfter
	}
	return max(0, StalledAfter-clock.Elapsed(ready.LastTransitionTime.Time, now))
}
