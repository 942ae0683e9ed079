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
	}
	// Fail ends the restore without success. The cluster was not changed.
	Fail struct{ Reason, Message string }
)

func (w Wait) describe(s State) planning.Description {
	kind := corev1.EventTypeNormal
	if w.Failure {
		kind = corev1.EventTypeWarning
	}
	return s.announced(kind, planning.Description{Reason: w.Reason, Message: w.Message, Requeue: w.Requeue})
}

func (f Fail) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeWarning, planning.Description{Reason: f.Reason, Message: f.Message})
}

func clusterIsMissing(s State) Step {
	if s.Cluster != nil {
		return nil
	}
	return Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: fmt.Sprintf(
		"The snapshot is verified, but there is no EtcdCluster %s in namespace %s. Create it, and it starts with the data of the snapshot.",
		s.Restore.Spec.EtcdCluster.Name, s.Restore.Namespace)}
}

// anotherRestoreIsFirst: a cluster is restored by one EtcdRestore at a time, the oldest first.
func anotherRestoreIsFirst(s State) Step {
	if s.Ahead == "" {
		return nil
	}
	return Wait{Reason: v1beta2.ReasonQueued, Message: fmt.Sprintf(
		"The snapshot is verified. EtcdCluster %s is restored by one EtcdRestore at a time, and EtcdRestore %s is first. If you do not want both, delete one of them.",
		s.Cluster.Name, s.Ahead)}
}

// clusterHasNotStarted waits for cluster-operator, which starts the restore unless the cluster is paused.
func clusterHasNotStarted(s State) Step {
	name := s.Cluster.Name
	if s.Cluster.Spec.Paused {
		return Wait{Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"The snapshot is verified, but EtcdCluster %s is paused. Set its spec.paused to false to start the restore.", name)}
	}
	if s.Cluster.Spec.Hibernate {
		return Wait{Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
			"The snapshot is verified, but EtcdCluster %s hibernates. Set its spec.hibernate to false to start the restore.", name)}
	}
	if stalled := meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return Wait{Reason: v1beta2.ReasonVerified, Message: planning.Sentence(fmt.Sprintf(
			"The snapshot is verified, but EtcdCluster %s has not started the restore, because it needs your help (%s): ", name, stalled.Reason), stalled.Message)}
	}
	return Wait{Reason: v1beta2.ReasonVerified, Message: fmt.Sprintf(
		"The snapshot is verified, but EtcdCluster %s has not started the restore. If this takes more than a minute, check that cluster-operator is running.", name)}
}
