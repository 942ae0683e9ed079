package material

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The certificates of users follow that of clients: they have the same CAs, and the same CA signs them. So when a CA is replaced, they change in
// the same steps, and no rule about members waits for them. Those of cert-manager are in users_issued.go.

// JudgeUsers says which certificates of users are due, and which when all members trust a new CA.
func JudgeUsers(m Material, s state.State) (due, outdated []state.UserCertificate) {
	var trusted pki.Bundle
	var signer *pki.CA
	if m.Issued != nil {
		trusted = trustedByMembers(m)
	} else {
		signer = signerOfUsers(m)
	}
	for _, user := range s.Spec.Auth.Certified() {
		var cause, later string
		if m.Issued != nil {
			cause, later = issuedUserDue(m, s, user, trusted)
		} else {
			cause = userDue(m, s, user, signer)
		}
		if cause != "" {
			due = append(due, state.UserCertificate{User: user, Cause: cause})
		} else if later != "" {
			outdated = append(outdated, state.UserCertificate{User: user, Cause: later})
		}
	}
	return due, outdated
}

// userDue says why the Secret of a user must be written; empty if it need not, or cannot be now.
func userDue(m Material, s state.State, user string, signer *pki.CA) string {
	held := m.Users[user]
	leaf, err := userPair(held).RequestedLeaf()
	issues := signer != nil && Valid(s, signer)
	switch {
	case !issues && err == nil && m.HandedOut["client"] != nil && !held.has(userData(m, s, user)):
		return otherCAs // the key of the CA is lost, and another one was added to what clients trust
	case !issues:
		return ""
	case held == nil:
		return "it has none yet"
	}
	if err == nil {
		err = state.UserRequest(s, user).Check(userPair(held))
	}
	switch {
	case err != nil:
		return err.Error()
	case leaf.CheckSignatureFrom(signer.Certificate()) != nil:
		return "another CA signs the certificates of clients now"
	case notYetValid(leaf, state.ServerNow(s)) != "":
		return "it was issued while a clock was ahead"
	case !held.has(userData(m, s, user)):
		return otherCAs
	}
	return state.Validity(s).DueBy(leaf.NotAfter, signer.Certificate().NotAfter, state.ServerNow(s))
}

// UsersUrgent reports what urgent does, for the certificates of users.
func UsersUrgent(m Material, s state.State) bool {
	if !state.ClocksDiffer(s) {
		return false
	}
	for _, held := range m.Users {
		if leaf, err := userPair(held).RequestedLeaf(); err == nil && renewsLate(s, leaf, state.Validity(s).RenewBefore) {
			return true
		}
	}
	return false
}

// UsersDueAt is when the first certificate of a user is due because of its age; far in the future without one.
func UsersDueAt(m Material, s state.State) time.Time {
	first := s.Now.Add(state.Validity(s).CADuration)
	for _, held := range m.Users {
		if leaf, err := pki.ParseCertificate(held.Get(v1beta2.ClientCertKey)); err == nil {
			if at := leaf.NotAfter.Add(-renewBefore(s, leaf)); at.Before(first) {
				first = at
			}
		}
	}
	return first
}

// NewUserSecret is the Secret of a user after it is written. A certificate that is not due is kept.
func NewUserSecret(m Material, s state.State, user string, step steps.WriteUserCertificates) (*Secret, error) {
	if m.Issued != nil {
		return newIssuedUserSecret(m, s, user, step)
	}
	signer := signerOfUsers(m)
	held := m.Users[user]
	pair := userPair(held)
	leaf, err := pair.RequestedLeaf()
	issues := signer != nil && Valid(s, signer)
	keep := err == nil && !issues || err == nil && state.UserRequest(s, user).Check(pair) == nil && leaf.CheckSignatureFrom(signer.Certificate()) == nil && notYetValid(leaf, state.ServerNow(s)) == "" &&
		state.Validity(s).DueBy(leaf.NotAfter, signer.Certificate().NotAfter, state.ServerNow(s)) == ""
	switch {
	case keep:
	case !issues:
		return nil, fmt.Errorf("issue the certificate of user %s: %w", user, errNoAuthority)
	default:
		if pair, err = signer.Issue(state.UserRequest(s, user), state.EarlierNow(s), state.FromEarlier(s, state.Validity(s).Duration)); err != nil {
			return nil, fmt.Errorf("issue the certificate of user %s: %w", user, err)
		}
	}
	return userSecret(m, s, user, pair), nil
}
