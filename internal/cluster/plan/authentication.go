package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// With etcd's authentication on, the operator needs a user with the role root: the one in the Secret of spec.auth, or the
// common name of its certificate. A member that refuses it serves clients nevertheless.

// Authentication is who the operator is to etcd, without any password.
type Authentication struct {
	// User in the Secret of spec.auth; empty without one.
	User string
	// Problem says what is wrong with that Secret. It is empty if all is well.
	Problem string
}

// Guarded says whether a quorum serves, and tells the operator nothing because etcd's authentication is on.
func (s State) Guarded() bool {
	return s.Formed() && !s.MembershipKnown && slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Guarded && m.InService })
}

// refusal is why members of an incarnation refuse the operator.
func (s State) refusal(incarnation int32) etcd.Refusal {
	for _, m := range s.incarnation(incarnation) {
		if m.Refusal != etcd.NotRefused && !m.Learner {
			return m.Refusal
		}
	}
	return etcd.NotRefused
}

// waitForPermission: etcd serves, and the operator may neither look nor change anything.
func (s State) waitForPermission() Step {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: requeueSettled,
		Message: "A quorum of the members serves. " + s.whyRefused(s.refusal(s.Incarnation)) + " The operator cannot heal, resize or upgrade the cluster, and backups fail. " + s.howToPermit(s.refusal(s.Incarnation)),
	}
}

// RefusedByEtcd is the wait in place of a step that etcd refused.
func (s State) RefusedByEtcd(refusal etcd.Refusal) Wait {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: requeueSettled,
		Message: s.whyRefused(refusal) + " The operator can neither add nor remove members, and backups fail. " + s.howToPermit(refusal),
	}
}

// refusedOperator reports on a healthy cluster that the next change of the membership, or the next backup, would fail.
func refusedOperator(s State) Step {
	if refusal := s.refusal(s.Incarnation); s.Formed() && refusal != etcd.NotRefused {
		return s.RefusedByEtcd(refusal)
	}
	return nil
}

// invalidAuthSecret reports on a healthy cluster a Secret that the operator would need if authentication were on.
func invalidAuthSecret(s State) Step {
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
func (s State) saveBeforeRefusal(seed Member) Step {
	if step := unstoppable(s); step != nil {
		return step
	}
	if s.wantsExact() {
		return FailRestore{Message: "The users and passwords of the snapshot are not those of the members, so the operator cannot reach both at once. So it cannot save the present data exactly. " +
			"The cluster was not changed. Create an EtcdRestore with another name and with safetySnapshot: Required."}
	}
	// One that is there is not renewed while a person corrects the Secret. The switch asks for its age.
	step := s.safetySnapshot()
	_, fails := step.(FailRestore)
	_, asks := step.(AwaitSafetySnapshot)
	again := asks && s.Restore.SeedReadyTime != nil
	if fails || step != nil && s.Request.Saved == nil && !again {
		return step
	}
	return s.refusedSeed(seed)
}

// refusedSeed waits before a switch to a seed that the operator could not take care of: a snapshot contains the users and
// passwords of its cluster.
func (s State) refusedSeed(seed Member) Step {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true,
		Message: "Authentication is on in the snapshot, with the users and passwords of that time. " + s.whyRefused(seed.Refusal) + " Clients are not switched to seed " + seed.Name + ", and the members continue to serve. " + s.howToPermit(seed.Refusal) + " Or delete the EtcdRestore.",
	}
}

// whyRefused says who is refused, and why.
func (s State) whyRefused(refusal etcd.Refusal) string {
	const on = "Authentication is on in etcd, and it refuses the operator: "
	switch {
	case s.Authentication.Problem != "":
		return on + s.Authentication.Problem
	case refusal == etcd.RefusedPassword:
		return on + fmt.Sprintf("user %s does not exist, or the password in Secret %s is wrong.", s.Authentication.User, s.Spec.Auth.OperatorSecretName())
	case refusal == etcd.RefusedRole:
		return on + s.operatorUser() + " does not have the role root."
	case s.Authentication.User != "":
		return on + s.operatorUser() + " is not accepted."
	}
	return on + "it has no user."
}

// howToPermit says what a person has to do.
func (s State) howToPermit(refusal etcd.Refusal) string {
	secret := s.Spec.Auth.OperatorSecretName()
	switch {
	case s.Authentication.Problem != "", refusal == etcd.RefusedPassword:
		return "Correct Secret " + secret + "."
	case refusal == etcd.RefusedRole && s.Authentication.User != "":
		return fmt.Sprintf("Give that user the role root (etcdctl user grant-role %s root).", s.Authentication.User)
	case secret == "" && s.Spec.TLS.SecureClient():
		return "Give that user the role root. Or set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."
	case secret == "":
		return "Set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."
	}
	return "Correct Secret " + secret + ", or turn authentication off (etcdctl auth disable)."
}

func (s State) operatorUser() string {
	switch {
	case s.Authentication.User != "":
		return fmt.Sprintf("user %s of Secret %s", s.Authentication.User, s.Spec.Auth.OperatorSecretName())
	case s.Spec.TLS.SecureClient():
		return "the user with the common name of the certificate in Secret " + s.Spec.TLS.OperatorSecret(s.Name)
	}
	return "its user"
}
