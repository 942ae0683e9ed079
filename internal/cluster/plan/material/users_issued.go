package material

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// cert-manager renews the Certificate of each user at a time of its own. After the CA of the issuer has changed, a user may get a certificate of the new one
// before members and clients do, or long after. So members trust the CAs of users, too: the new one before a user gets its certificate, and the old one
// as long as a user has one of it.

// IssuedUserPair is what cert-manager has issued for a user.
func IssuedUserPair(m Material, user string) pki.Pair {
	issued := m.UsersIssued[user]
	return pki.Pair{Cert: issued.Get(IssuedCertKey), Key: issued.Get(IssuedKeyKey)}
}

// neededByUsers are the CAs that signed the certificates of users, and those of the certificates that they get next. TLS.managed signs those of users
// again at once.
func neededByUsers(m Material) pki.Bundle {
	if m.Issued == nil {
		return nil
	}
	needed := issuedToUsers(m)
	bundle, checks := Bundle(m), m.userChecks()
	for _, held := range m.Users {
		if leaf, err := userPair(held).RequestedLeaf(); err == nil {
			needed = needed.With(bundle.Signers(leaf, pki.ParseBundle(userPair(held).Cert), checks))
		}
	}
	if checks.Exceeded() {
		return needed.With(bundle) // which of them is not needed is not known
	}
	return needed
}

// issuedToUsers are the CAs that cert-manager wrote beside the certificates of users.
func issuedToUsers(m Material) (all pki.Bundle) {
	parsed := map[string]bool{}
	for _, issued := range m.UsersIssued {
		if authorities := issued.Get(IssuedCAKey); !parsed[string(authorities)] {
			parsed[string(authorities)] = true // most users have the same
			all = all.With(pki.ParseBundle(authorities))
		}
	}
	return all
}

// trustedByMembers are the CAs that signed the certificate of clients in use: all members trust them.
func trustedByMembers(m Material) pki.Bundle {
	held := m.HandedOut["client"]
	leaf, err := userPair(held).RequestedLeaf()
	if err != nil {
		return nil
	}
	return pki.ParseBundle(held.Get(v1beta2.ClientCAKey)).Signers(leaf, pki.ParseBundle(held.Get(v1beta2.ClientCertKey)), m.userChecks())
}

// mostCAs is how many CAs members may trust with those of users, and mostOfCAs how many bytes their PEM has. It is half of what the operator reads, so that
// members can trust a new CA of the cluster beside them.
const (
	mostCAs   = 100
	mostOfCAs = 128 << 10
)

// tooManyForUser reports whether members would trust too many CAs with those of a user.
func tooManyForUser(m Material, user string) bool {
	all := Bundle(m).With(Wanted(m))
	if all.Has(pki.ParseBundle(m.UsersIssued[user].Get(IssuedCAKey))) {
		return false
	}
	all = all.With(issuedToUsers(m))
	return len(all) > mostCAs || len(all.PEM()) > mostOfCAs
}

// UnfitForUser says why a user does not get the certificate that cert-manager has issued; empty if it does.
func UnfitForUser(m Material, s state.State, user string) string {
	issued := IssuedUserPair(m, user)
	leaf, err := issued.RequestedLeaf()
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	wanted := state.UserRequest(s, user)
	switch {
	case len(m.UsersIssued[user].Get(IssuedCAKey)) == 0:
		return "the Secret has no key " + IssuedCAKey + ". Use an issuer that writes its CA (CA, Vault, Venafi)"
	case pki.CheckBundle(m.UsersIssued[user].Get(IssuedCAKey)) != nil:
		return "the key " + IssuedCAKey + " has too many CAs"
	case leaf.Subject.CommonName != wanted.CommonName:
		return "its common name is not the user"
	case !allows(leaf, x509.ExtKeyUsageClientAuth):
		return "it is not for clients"
	case len(wanted.DNSNames) > 0 && state.LacksClientName(s, issued.Cert):
		return "it lacks the DNS name " + state.ClientHostname(s)
	case notYetValid(leaf, state.ServerNow(s)) != "":
		return notYetValid(leaf, state.ServerNow(s))
	case expired(s, leaf):
		return "it has expired"
	case tooManyForUser(m, user):
		return fmt.Sprintf("with the CAs in the key %s, members would trust more than %d CAs. Use one issuer for all users", IssuedCAKey, mostCAs)
	}
	authorities, checks := m.UsersIssued[user].Get(IssuedCAKey), m.userChecks()
	signers := pki.ParseBundle(authorities).Signers(leaf, pki.ParseBundle(issued.Cert), checks)
	switch {
	case len(signers) == 0 && checks.Exceeded():
		return tooManyOfUsers
	case len(signers) == 0:
		return "no CA in the key " + IssuedCAKey + " has signed it"
	}
	return expiry(s, issued, authorities, checks)
}

// tooManyOfUsers is why a user gets no certificate if those of all users need more signatures than maxSignaturesOfUsers.
const tooManyOfUsers = "the certificates of users have so many CAs and intermediates with the same name that the operator cannot compare them. Use one issuer for all users"

// issuedUserDue says why the Secret of a user must be written now, or when all members trust the CA that signed the next certificate.
func issuedUserDue(m Material, s state.State, user string, trusted pki.Bundle) (due, outdated string) {
	issued, held := IssuedUserPair(m, user), m.Users[user]
	leaf, err := issued.RequestedLeaf()
	if err != nil || issued.Same(userPair(held)) || UnfitForUser(m, s, user) != "" {
		if _, err := userPair(held).RequestedLeaf(); err == nil && !held.has(userData(m, s, user)) {
			return "the CAs or the addresses of the cluster have changed", ""
		}
		return "", ""
	}
	cause := "cert-manager issued a new one that expires at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	if held == nil {
		cause = "it has none yet"
	}
	checks := m.userChecks()
	if before, err := userPair(held).RequestedLeaf(); err == nil {
		trusted = trusted.With(Bundle(m).Signers(before, pki.ParseBundle(userPair(held).Cert), checks))
	}
	if len(trusted.Signers(leaf, pki.ParseBundle(issued.Cert), checks)) > 0 {
		return cause, ""
	}
	return "", cause
}

// newIssuedUserSecret is the Secret of a user with the certificate of cert-manager, if members trust it, and with the one before otherwise.
func newIssuedUserSecret(m Material, s state.State, user string, step steps.WriteUserCertificates) (*Secret, error) {
	issued, held := IssuedUserPair(m, user), m.Users[user]
	due, outdated := issuedUserDue(m, s, user, trustedByMembers(m))
	pair := userPair(held)
	if UnfitForUser(m, s, user) == "" && (due != "" || outdated != "" && step.Switch) {
		pair = issued
	}
	if _, err := pair.RequestedLeaf(); err != nil {
		return nil, fmt.Errorf("hand out the certificate of user %s: cert-manager has issued none that members trust", user)
	}
	after := userSecret(m, s, user, pair)
	after.Annotations[annotationCertificateSince] = state.Stamp(s).UTC().Format(time.RFC3339)
	if held != nil && (pair.Same(userPair(held)) || sameSigners(m, userPair(held), pair)) {
		after.Annotations[annotationCertificateSince] = held.Annotations[annotationCertificateSince]
	}
	return after, nil
}

// sameSigners reports whether the CAs that signed a certificate also signed the next one. Then an old CA is in use no longer than before.
func sameSigners(m Material, before, after pki.Pair) bool {
	was, err := before.RequestedLeaf()
	if err != nil {
		return false
	}
	is, err := after.RequestedLeaf()
	if err != nil {
		return false
	}
	bundle, checks := Bundle(m), m.userChecks()
	signers := bundle.Signers(was, pki.ParseBundle(before.Cert), checks)
	return len(signers) > 0 && bundle.Signers(is, pki.ParseBundle(after.Cert), checks).Has(signers) && !checks.Exceeded()
}

// renewBefore is how long before its expiry a certificate of a user is renewed. cert-manager begins with the last third of its lifetime, also if the issuer
// has made that shorter than what the spec says.
func renewBefore(s state.State, leaf *x509.Certificate) time.Duration {
	issuing, lifetime := s.Spec.TLS.CertManager, leaf.NotAfter.Sub(leaf.NotBefore)
	switch {
	case issuing == nil:
		return state.Validity(s).RenewBefore
	case issuing.RenewBefore != nil && issuing.RenewBefore.Duration < lifetime:
		return issuing.RenewBefore.Duration
	}
	return lifetime / 3
}
