package material

import (
	"crypto/x509"
	"net"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A Certificate may differ from the spec: another tool or a person has changed it, or an issuer leaves something out. etcd loads a certificate without a
// restart, so a running cluster would lose its connections at once. While the one in use is valid, it is better than one that covers less.

// lostByIssued is what a usage needs, the certificate in use covers, and the one that cert-manager has issued does not. It is empty for nothing.
func lostByIssued(m Material, s state.State, u state.Usage) string {
	held, err := m.Pair(u).Leaf()
	issued, err2 := m.IssuedPair(u).Leaf()
	if err != nil || err2 != nil || expired(s, held) || notYetValid(held, state.LaterNow(s)) != "" {
		return ""
	}
	return lost(state.CertificateRequest(s, u), held, issued)
}

func lost(needed pki.Request, held, issued *x509.Certificate) string {
	name := needed.CommonName
	if !needed.Server && held.Subject.CommonName == name && issued.Subject.CommonName != name { // the user of etcd's authentication
		return "the common name " + name
	}
	for _, name := range needed.DNSNames {
		if slices.Contains(held.DNSNames, name) && !slices.Contains(issued.DNSNames, name) {
			return "the DNS name " + name
		}
	}
	for _, address := range needed.Addresses {
		if slices.ContainsFunc(held.IPAddresses, address.Equal) && !slices.ContainsFunc(issued.IPAddresses, func(ip net.IP) bool { return ip.Equal(address) }) {
			return "the address " + address.String()
		}
	}
	loses := func(usage x509.ExtKeyUsage) bool { return allows(held, usage) && !allows(issued, usage) }
	switch {
	case needed.Server && loses(x509.ExtKeyUsageServerAuth):
		return "the key usage of servers"
	case needed.Client && loses(x509.ExtKeyUsageClientAuth):
		return "the key usage of clients"
	}
	return ""
}

// allows reports whether TLS accepts a certificate for a usage. One without any usage is accepted for all.
func allows(cert *x509.Certificate, usage x509.ExtKeyUsage) bool {
	return len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) == 0 || slices.Contains(cert.ExtKeyUsage, usage) || slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// lesserIssued is the message about a certificate from cert-manager that is not handed out for that reason. It is empty if there is none.
func lesserIssued(m Material, s state.State, u state.Usage) string {
	lacks := lostByIssued(m, s, u)
	if lacks == "" {
		return ""
	}
	name := s.Name + u.Certificate
	return "cert-manager issued Certificate " + name + " without " + lacks + ", which the one in use has. The operator does not hand it out, and the one in use expires. " +
		"Correct the Certificate, the issuer or the approver policy. Then renew the certificate: cmctl renew " + name
}
