package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

func clusterIsMissing(s state.State) steps.Step {
	if s.Cluster != nil {
		return nil
	}
	return steps.Wait{Patient: true, Reason: v1beta2.ReasonWaitingForCluster, Message: fmt.Sprintf(
		"%s, but there is no EtcdCluster %s in namespace %s. Create it, and it starts with the data of the %s.",
		isReady(s), s.Restore.Spec.EtcdCluster.Name, s.Restore.Namespace, sourceName(s))}
}

// isReady says that the cluster can be filled.
func isReady(s state.State) string {
	if s.Restore.Status.Volume != nil {
		return "The volume is ready to be read"
	}
	return "The snapshot is verified"
}

// sourceName is the word for what is restored.
func sourceName(s state.State) string {
	if s.Restore.Status.Volume != nil {
		return "volume"
	}
	return "snapshot"
}

// anotherRestoreIsFirst: a cluster is restored by one EtcdRestore at a time, the oldest first.
func anotherRestoreIsFirst(s state.State) steps.Step {
	if s.Ahead == "" {
		return nil
	}
	return steps.Wait{Patient: true, Reason: v1beta2.ReasonQueued, Message: fmt.Sprintf(
		"%s. EtcdCluster %s is restored by one EtcdRestore at a time, and EtcdRestore %s is first. If you do not want both, delete one of them.",
		isReady(s), s.Cluster.Name, s.Ahead)}
}

// startGrace is how long cluster-operator may take to start a verified restore before a person must look.
const startGrace = 5 * time.Minute

// clusterHasNotStarted waits for cluster-operator, which starts the restore unless the cluster is paused or hibernates. It quotes what the
// EtcdCluster reports. So whatever keeps the restore from its start is in its status.
func clusterHasNotStarted(s state.State) steps.Step {
	name := s.Cluster.Name
	if s.Cluster.Spec.Paused {
		return steps.Wait{Patient: true, Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"%s, but EtcdCluster %s is paused. Set its spec.paused to false to start the restore.", isReady(s), name)}
	}
	if s.Cluster.Spec.Hibernate {
		return steps.Wait{Patient: true, Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"%s, but EtcdCluster %s hibernates. Set its spec.hibernate to false to start the restore.", isReady(s), name)}
	}
	if cluster := s.StalledCluster(); cluster != nil {
		return steps.Wait{Reason: v1beta2.ReasonNotStarted, Stalled: true, Message: state.HelpNeeded(isReady(s)+", but EtcdCluster "+name+" has not started the restore, because it", cluster)}
	}
	message := fmt.Sprintf("%s, but EtcdCluster %s has not started the restore.", isReady(s), name)
	if ready := meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		message += planning.Sentence(fmt.Sprintf(" The EtcdCluster reports %s: ", ready.Reason), ready.Message)
	}
	left := startGrace - s.Now.Sub(verifiedAt(s))
	if left > 0 {
		return steps.Wait{Patient: true, Reason: v1beta2.ReasonVerified, Requeue: left, Message: message + " If this takes more than a minute, check that cluster-operator is running."}
	}
	return steps.Wait{Reason: v1beta2.ReasonNotStarted, Stalled: true, Message: fmt.Sprintf(
		"%s This has lasted since %s, longer than %s. Check that cluster-operator is running and manages this EtcdCluster, and read its log.",
		message, verifiedAt(s).UTC().Format(time.RFC3339), startGrace)}
}

// verifiedAt returns since when the snapshot is verified. A time ahead of now comes from a clock that was wrong, and counts as now.
func verifiedAt(s state.State) time.Time {
	verified := meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionVerified)
	if verified == nil || verified.Status != metav1.ConditionTrue || verified.LastTransitionTime.After(s.Now) {
		return s.Now
	}
	return verified.LastTransitionTime.Time
}

// ObjectRefused is the step in place of one whose object the API server refuses for good.
func ObjectRefused(message string) steps.Step {
	return steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: message, Failure: true, Stalled: true, Requeue: refusedAgain}
}

// refusedAgain is when a step is tried again whose object the API server refused.
const refusedAgain = 30 * time.Second
