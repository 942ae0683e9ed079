package modes

import (
	"cmp"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Deleting leaves to the garbage collector what the cluster owns.
func Deleting(s state.State) steps.Step {
	if !s.Deleting {
		return nil
	}
	return steps.Idle{Reason: v1beta2.ReasonDeleting, Message: "The EtcdCluster is being deleted. Kubernetes deletes the Pods, volumes and Services that it owns."}
}

// Paused changes nothing while spec.paused is true, apart from what protects data.
func Paused(s state.State) steps.Step {
	if !s.Spec.Paused {
		return nil
	}
	return steps.Idle{Reason: v1beta2.ReasonPaused, Message: "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false." + awaitsCA(s, "after the pause") + refusingWrites(s)}
}

// awaitsCA says until when no new CA is created, if one is due while the cluster is paused or hibernates. It is empty otherwise.
func awaitsCA(s state.State, until string) string {
	if !s.Spec.TLS.Issued() || s.Certificates.CA.ReplaceCause == "" {
		return ""
	}
	return " A new certificate authority is needed, because " + s.Certificates.CA.ReplaceCause + ". The operator creates it only " + until + ", because all members must restart for it."
}

// MissingSecrets waits for Secrets. Without them Pods would hang and members could not be asked.
func MissingSecrets(s state.State) steps.Step {
	if s.SecretProblem == "" {
		return nil
	}
	return steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: s.SecretProblem + " Until it is corrected, the operator changes nothing. " + whetherServing(s), Stalled: true}
}

// whetherServing says what members do that the operator cannot ask.
func whetherServing(s state.State) string {
	return cmp.Or(strings.TrimSpace(refusingWrites(s)), "Members that run continue to serve.")
}

// refusingWrites says that a restore has fenced the members that clients reach; empty if it has not.
func refusingWrites(s state.State) string {
	selected := s.Switching() || state.RestoreStep(s) == v1beta2.RestoreGrowing && s.Services.ClientExists && s.Services.ClientIncarnation < s.Incarnation
	if selected && s.Restore.LastRevision > 0 {
		return " The restore has fenced the old members, so they refuse writes and serve reads."
	}
	return ""
}
