package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// With etcd's authentication on, the operator needs a user with the role root: the one in the Secret of spec.auth, or the
// common name of its certificate. A member that refuses it serves clients nevertheless.

// waitForPermission: etcd serves, and the operator may neither look nor change anything.
func waitForPermission(s state.State) Step {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
		Message: "A quorum of the members serves. " + state.WhyRefused(s, state.Refusal(s, s.Incarnation)) + " The operator cannot heal, resize or upgrade the cluster, and backups fail. " + state.HowToPermit(s, state.Refusal(s, s.Incarnation)),
	}
}

// RefusedByEtcd is the wait in place of a step that etcd refused.
func RefusedByEtcd(s state.State, refusal etcd.Refusal) Wait {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
		Message: state.WhyRefused(s, refusal) + " The operator can neither add nor remove members, and backups fail. " + state.HowToPermit(s, refusal),
	}
}

// refusedOperator reports on a healthy cluster that the next change of the membership, or the next backup, would fail.
func refusedOperator(s state.State) Step {
	if refusal := state.Refusal(s, s.Incarnation); s.Formed() && refusal != etcd.NotRefused {
		return RefusedByEtcd(s, refusal)
	}
	return nil
}

// invalidAuthSecret reports on a healthy cluster a Secret that the operator would need if authentication were on.
func invalidAuthSecret(s state.State) Step {
	if s.Authentication.Problem == "" {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonSecretMissing, Stalled: true,
		Message: s.Authentication.Problem + " The operator continues without a user. If authentication is turned on in etcd, it can no longer change the cluster. Correct the Secret.",
	}
}

// saveBeforeRefusal takes the safety snapshot before a person is asked for the password of the snapshot: with that one in
// the Secret, the present members would refuse restore-operator.
func saveBeforeRefusal(s state.State, seed state.Member) Step {
	if step := unstoppable(s); step != nil {
		return step
	}
	if state.WantsExact(s) {
		return FailRestore{Message: "The users and passwords of the snapshot are not those of the members, so the operator cannot reach both at once. So it cannot save the present data exactly. " +
			"The cluster was not changed. Create an EtcdRestore with another name and with safetySnapshot: Required."}
	}
	// One that is there is not renewed while a person corrects the Secret. The switch asks for its age.
	step := safetySnapshot(s)
	_, fails := step.(FailRestore)
	_, asks := step.(AwaitSafetySnapshot)
	again := asks && s.Restore.SeedReadyTime != nil
	if fails || step != nil && s.Request.Saved == nil && !again {
		return step
	}
	return refusedSeed(s, seed)
}

// refusedSeed waits before a switch to a seed that the operator could not take care of: a snapshot contains the users and
// passwords of its cluster.
func refusedSeed(s state.State, seed state.Member) Step {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true,
		Message: "Authentication is on in the snapshot, with the users and passwords of that time. " + state.WhyRefused(s, seed.Refusal) + " Clients are not switched to seed " + seed.Name + ", and the members continue to serve. " + state.HowToPermit(s, seed.Refusal) + " Or delete the EtcdRestore.",
	}
}
