package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// maxSignatures is how many signatures one judgement of the certificates of a cluster checks. A cluster needs one for each certificate, and two
// more for each intermediate. Those of ten CAs with the same name need a hundred. With the slowest keys, they take about a second.
const maxSignatures = 400

// TooManySignatures is the problem of a cluster whose certificates need more checks.
const TooManySignatures = "The Secrets of the certificates hold so many CA certificates and intermediates with the same name that the operator cannot compare them. " +
	"Remove the CA certificates that no certificate in use needs from the Secrets, and the intermediates from the certificates."

// TooMany returns which Secret has more CA certificates than the operator compares, and what to do. It is empty if none has.
func (m Material) TooMany(s State) string {
	why := func(name string, secret *Secret, keys ...string) string {
		for _, key := range keys {
			if problem := TooManyCAs(name, key, secret.Get(key)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if problem := why(s.CASecret(), m.CA, CACertKey, PreviousCACertKey); problem != "" {
		return problem
	}
	for _, u := range Usages {
		if problem := why(s.Name+u.Suffix, m.HandedOut[u.Name], u.caKey); problem != "" {
			return problem
		}
		if problem := why("of Certificate "+s.Name+u.Certificate, m.Issued[u.Name], IssuedCAKey); problem != "" {
			return problem
		}
	}
	return ""
}

// TooManyCAs returns the problem of one key of a Secret.
func TooManyCAs(name, key string, content []byte) string {
	if err := pki.CheckBundle(content); err != nil {
		return fmt.Sprintf("Secret %s has too many CA certificates in the key %s: %v. Remove those that no certificate in use needs.", name, key, err)
	}
	return ""
}
