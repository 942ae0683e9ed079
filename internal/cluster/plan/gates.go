package plan

import (
	"cmp"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// deleting: the garbage collector takes what the cluster owns.
func deleting(s State) Step {
	if !s.Deleting {
		return nil
	}
	return Idle{Reason: v1beta2.ReasonDeleting, Message: "The EtcdCluster is being deleted. Kubernetes deletes the Pods, volumes and Services that it owns."}
}

func paused(s State) Step {
	if !s.Spec.Paused {
		return nil
	}
	return Idle{Reason: v1beta2.ReasonPaused, Message: "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false." + s.refusingWrites()}
}

// missingSecrets: without them Pods would hang and members could not be asked.
func missingSecrets(s State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{Reason: v1beta2.ReasonSecretMissing, Message: s.SecretProblem + " Until it is corrected, the operator changes nothing. " + s.whetherServing(), Stalled: true}
}

// whetherServing says what members do that the operator cannot ask.
func (s State) whetherServing() string {
	return cmp.Or(strings.TrimSpace(s.refusingWrites()), "Members that run continue to serve.")
}

// refusingWrites says that a restore has fenced the members; empty if it has not.
func (s State) refusingWrites() string {
	if s.switching() && s.Restore.LastRevision > 0 {
		return " The restore has fenced the old members, so they refuse writes and serve reads."
	}
	return ""
}
