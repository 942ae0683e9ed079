package material

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The certificates of users follow that of clients: they have the same CAs, and the same CA signs them. So when a CA is replaced, they change in
// the same steps, and no rule about members waits for them. Those of cert-manager are in users_issued.go.

// Keys of the Secret of a user beside the certificate. Service Binding (servicebinding.io) defines the first four.
const (
	BindingTypeKey      = "type"
	BindingHostKey      = "host"
	BindingPortKey      = "port"
	BindingUsernameKey  = "username"
	BindingEndpointsKey = "endpoints"
)

// otherCAs is why a Secret of a user is written with the certificate that it has.
const otherCAs = "the CAs or the addresses of the cluster have changed"

// JudgeUsers says which certificates of users are due, and which when all members trust a new CA.
func (m Material) JudgeUsers(s state.State) (due, outdated []state.UserCertificate) {
	var trusted pki.Bundle
	if m.Issued != nil {
		trusted = m.trustedByMembers()
	}
	for _, user := range s.Spec.Auth.Certified() {
		cause, later := m.userDue(s, user), ""
		if m.Issued != nil {
			cause, later = m.issuedUserDue(s, user, trusted)
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
func (m Material) userDue(s state.State, user string) string {
	signer := m.signerOfUsers()
	held := m.Users[user]
	leaf, err := userPair(held).Leaf()
	issues := signer != nil && Valid(s, signer)
	switch {
	case !issues && err == nil && m.HandedOut["client"] != nil && !held.has(m.userData(s, user)):
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
	case !held.has(m.userData(s, user)):
		return otherCAs
	}
	return state.Validity(s).DueBy(leaf.NotAfter, signer.Certificate().NotAfter, state.ServerNow(s))
}

// UsersUrgent reports what urgent does, for the certificates of users.
func (m Material) UsersUrgent(s state.State) bool {
	if !state.ClocksDiffer(s) {
		return false
	}
	for _, held := range m.Users {
		if leaf, err := userPair(held).Leaf(); err == nil && renewsLate(s, leaf, state.Validity(s).RenewBefore) {
			return true
		}
	}
	return false
}

// UsersDueAt is when the first certificate of a user is due because of its age; far in the future without one.
func (m Material) UsersDueAt(s state.State) time.Time {
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

// signerOfUsers is the CA that signed the certificate of clients; nil if there is none yet, or its key is not known.
func (m Material) signerOfUsers() *pki.CA {
	leaf, err := pki.Pair{Cert: m.HandedOut["client"].Get(v1beta2.ClientCertKey), Key: m.HandedOut["client"].Get(v1beta2.ClientKeyKey)}.Leaf()
	if err != nil {
		return nil
	}
	return signerOf(m, leaf)
}

func userPair(held *Secret) pki.Pair {
	return pki.Pair{Cert: held.Get(v1beta2.ClientCertKey), Key: held.Get(v1beta2.ClientKeyKey)}
}

// userData is what the Secret of a user has beside the certificate.
func (m Material) userData(s state.State, user string) map[string][]byte {
	authorities := m.HandedOut["client"].Get(v1beta2.ClientCAKey)
	host := s.ClientService() + "." + s.Namespace + ".svc"
	port := strconv.Itoa(int(v1beta2.ClientPort))
	return map[string][]byte{
		v1beta2.ClientCAKey: authorities, IssuedCAKey: authorities,
		BindingTypeKey: []byte("etcd"), BindingHostKey: []byte(host), BindingPortKey: []byte(port), BindingUsernameKey: []byte(user),
		BindingEndpointsKey: []byte("https://" + host + ":" + port),
	}
}

// has reports whether a Secret has all of some data.
func (s *Secret) has(data map[string][]byte) bool {
	for key, value := range data {
		if !bytes.Equal(s.Get(key), value) {
			return false
		}
	}
	return bytes.Equal(s.Get(IssuedCertKey), s.Get(v1beta2.ClientCertKey)) && bytes.Equal(s.Get(IssuedKeyKey), s.Get(v1beta2.ClientKeyKey))
}

// NewUserSecret is the Secret of a user after it is written. A certificate that is not due is kept.
func (m Material) NewUserSecret(s state.State, user string, step steps.WriteUserCertificates) (*Secret, error) {
	if m.Issued != nil {
		return m.newIssuedUserSecret(s, user, step)
	}
	signer := m.signerOfUsers()
	held := m.Users[user]
	pair := userPair(held)
	leaf, err := pair.Leaf()
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
	return m.userSecret(s, user, pair), nil
}

// userSecret is the Secret of a user with a certificate.
func (m Material) userSecret(s state.State, user string, pair pki.Pair) *Secret {
	data := m.userData(s, user)
	data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[IssuedCertKey], data[IssuedKeyKey] = pair.Cert, pair.Key, pair.Cert, pair.Key
	after := &Secret{Data: data, Annotations: map[string]string{}}
	if held := m.Users[user]; held != nil {
		after.Version = held.Version
	}
	return after
}
