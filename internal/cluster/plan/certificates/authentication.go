package certificates

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// RefusedByEtcd is the wait in place of a step that etcd refused.
func RefusedByEtcd(s state.State, refusal etcd.Refusal) steps.Wait {
	return steps.Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
		Message: state.WhyRefused(s, refusal) + " The operator can neither add nor remove members, and backups fail. " + state.HowToPermit(s, refusal),
	}
}

// RefusedOperator reports on a healthy cluster that the next change of the membership, or the next backup, would fail.
func RefusedOperator(s state.State) steps.Step {
	if refusal := state.Refusal(s, s.Incarnation); s.Formed() && refusal != etcd.NotRefused {
		return RefusedByEtcd(s, refusal)
	}
	return nil
}

// InvalidAuthSecret reports on a healthy cluster a Secret that the operator would need if authentication were on.
func InvalidAuthSecret(s state.State) steps.Step {
	if s.Authentication.Problem == "" {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonSecretMissing, Stalled: true,
		Message: s.Authentication.Problem + " The operator continues without a user. If authentication is turned on in etcd, it can no longer change the cluster. Correct the Secret.",
	}
}
