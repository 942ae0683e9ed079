package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Wait waits for something that the operator does not do itself.
	Wait struct {
		Reason, Message string
		// Failure is true if it waits because something failed.
		Failure bool
		// Requeue is when to look again. 0 leaves it to watches.
		Requeue time.Duration
		// Stalled is true if a person must act.
		Stalled bool
		// Patient is true if it ends without a person, if the user wants it, or if the rule has a limit of its own. All others are Stalled after
		// planning.StalledAfter.
		Patient bool
	}
	// Fail ends the restore without success. The cluster was not changed.
	Fail struct{ Reason, Message string }
)

func (w Wait) describe(s State) planning.Description {
	kind := corev1.EventTypeNormal
	if w.Failure {
		kind = corev1.EventTypeWarning
	}
	requeue := w.Requeue
	if left := planning.NotReadyLeft(s.Restore.Status.Conditions, s.Now); left > 0 && !w.Patient && (requeue == 0 || left < requeue) {
		requeue = left
	}
	return s.announced(kind, planning.Description{Reason: w.Reason, Message: w.Message, Requeue: requeue})
}

func (f Fail) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeWarning, planning.Description{Reason: f.Reason, Message: f.Message})
}

func clusterIsMissing(s State) Step {
	if s.Cluster != nil {
		return nil
	}
	return Wait{Patient: true, Reason: v1beta2.ReasonWaitingForCluster, Message: fmt.Sprintf(
		"The snapshot is verified, but there is no EtcdCluster %s in namespace %s. Create it, and it starts with the data of the snapshot.",
		s.Restore.Spec.EtcdCluster.Name, s.Restore.Namespace)}
}

// anotherRestoreIsFirst: a cluster is restored by one EtcdRestore at a time, the oldest first.
func anotherRestoreIsFirst(s State) Step {
	if s.Ahead == "" {
		return nil
	}
	return Wait{Patient: true, Reason: v1beta2.ReasonQueued, Message: fmt.Sprintf(
		"The snapshot is verified. EtcdCluster %s is restored by one EtcdRestore at a time, and EtcdRestore %s is first. If you do not want both, delete one of them.",
		s.Cluster.Name, s.Ahead)}
}

// startGrace is how long cluster-operator may take to start a verified restore before a person must look.
const startGrace = 5 * time.Minute

// clusterHasNotStarted waits for cluster-operator, which starts the restore unless the cluster is paused or hibernates. It quotes what the
// EtcdCluster reports. So whatever keeps the restore from its start is in its status.
func clusterHasNotStarted(s State) Step {
	name := s.Cluster.Name
	if s.Cluster.Spec.Paused {
		return Wait{Patient: true, Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"The snapshot is verified, but EtcdCluster %s is paused. Set its spec.paused to false to start the restore.", name)}
	}
	if s.Cluster.Spec.Hibernate {
		return Wait{Patient: true, Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"The snapshot is verified, but EtcdCluster %s hibernates. Set its spec.hibernate to false to start the restore.", name)}
	}
	if cluster := s.stalledCluster(); cluster != nil {
		return Wait{Reason: v1beta2.ReasonNotStarted, Stalled: true, Message: helpNeeded("The snapshot is verified, but EtcdCluster "+name+" has not started the restore, because it", cluster)}
	}
	message := fmt.Sprintf("The snapshot is verified, but EtcdCluster %s has not started the restore.", name)
	if ready := meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		message += planning.Sentence(fmt.Sprintf(" The EtcdCluster reports %s: ", ready.Reason), ready.Message)
	}
	left := startGrace - s.Now.Sub(s.verifiedAt())
	if left > 0 {
		return Wait{Patient: true, Reason: v1beta2.ReasonVerified, Requeue: left, Message: message + " If this takes more than a minute, check that cluster-operator is running."}
	}
	return Wait{Reason: v1beta2.ReasonNotStarted, Stalled: true, Message: fmt.Sprintf(
		"%s This has lasted since %s, longer than %s. Check that cluster-operator is running and manages this EtcdCluster, and read its log.",
		message, s.verifiedAt().UTC().Format(time.RFC3339), startGrace)}
}

// stalledCluster returns the condition of a cluster that is Stalled, and nil for any other.
func (s State) stalledCluster() *metav1.Condition {
	if s.Cluster == nil || !meta.IsStatusConditionTrue(s.Cluster.Status.Conditions, v1beta2.ConditionStalled) {
		return nil
	}
	return meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionStalled)
}

// helpNeeded quotes why a cluster is Stalled.
func helpNeeded(who string, stalled *metav1.Condition) string {
	return planning.Sentence(fmt.Sprintf("%s needs your help (%s): ", who, stalled.Reason), stalled.Message)
}

// verifiedAt returns since when the snapshot is verified. A time ahead of now comes from a clock that was wrong, and counts as now.
func (s State) verifiedAt() time.Time {
	verified := meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionVerified)
	if verified == nil || verified.Status != metav1.ConditionTrue || verified.LastTransitionTime.After(s.Now) {
		return s.Now
	}
	return verified.LastTransitionTime.Time
}

// ObjectRefused is the step in place of one whose object the API server refuses for good.
func ObjectRefused(message string) Step {
	return Wait{Reason: v1beta2.ReasonObjectRefused, Message: message, Failure: true, Stalled: true, Requeue: refusedAgain}
}

// refusedAgain is when a step is tried again whose object the API server refused.
const refusedAgain = 30 * time.Second
