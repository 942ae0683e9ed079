package material

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// maxSignatures is the number of signatures that the operator checks at most, each time it judges the certificates of a cluster. A cluster needs one
// signature for each certificate, and two more for each intermediate. A cluster whose ten CAs have the same name needs a hundred. With the slowest
// keys, 400 signatures take about a second.
const maxSignatures = 400

// maxSignaturesOfUsers is the same for the certificates of all users, of which there are a hundred: each needs one signature for each CA of the name of its
// issuer, and two such certificates are compared while a CA is replaced.
const maxSignaturesOfUsers = 1000

// NewUserChecks returns the limit for a judgement.
func NewUserChecks() *pki.Checks { return pki.NewChecks(maxSignaturesOfUsers) }

// userChecks returns the limit for the certificates of users.
func (m Material) userChecks() *pki.Checks {
	if m.UserChecks == nil {
		return NewUserChecks()
	}
	return m.UserChecks
}

// TooManySignatures is the problem of a cluster whose certificates need more than maxSignatures.
const TooManySignatures = "The Secrets of the certificates hold so many CA certificates and intermediates with the same name that the operator cannot compare them. " +
	"Remove from the Secrets the CA certificates that no certificate in use needs, and from the certificates the intermediates."

// TooMany returns the name of a Secret with more CA certificates than the operator compares, and what to do. It returns an empty text if there is
// no such Secret.
func (m Material) TooMany(s state.State) string {
	why := func(name string, secret *Secret, keys ...string) string {
		for _, key := range keys {
			if problem := TooManyCAs(name, key, secret.Get(key)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if problem := why(CASecret(s), m.CA, CACertKey, PreviousCACertKey); problem != "" {
		return problem
	}
	for _, u := range state.Usages {
		if problem := why(s.Name+u.Suffix, m.HandedOut[u.Name], u.CaKey); problem != "" {
			return problem
		}
		if problem := why("of Certificate "+s.Name+u.Certificate, m.Issued[u.Name], IssuedCAKey); problem != "" {
			return problem
		}
	}
	return ""
}

// TooManyCAs returns the problem of a key of a Secret that holds too many CA certificates. Otherwise it returns an empty text.
func TooManyCAs(name, key string, content []byte) string {
	if err := pki.CheckBundle(content); err != nil {
		return fmt.Sprintf("Secret %s has too many CA certificates in the key %s: %v. Remove those that no certificate in use needs.", name, key, err)
	}
	return ""
}
