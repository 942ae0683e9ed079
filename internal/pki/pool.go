package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
)

// maxParts is how many names, extensions and entries of extensions the CA certificates of a bundle have together at most. Each takes ten times its bytes in memory when it is
// parsed. All public CAs have 1,600.
const maxParts = 3000

// Pool reads the CA certificates in PEM content as those that a client trusts, see Trusted. It keeps their bytes, and parses one when it may have signed a certificate.
func Pool(content []byte) (*x509.CertPool, error) {
	trusted, err := Trusted(content)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	return pool, nil
}

// Trusted returns the CA certificates in PEM content, of which a client keeps a pool as long as it has a connection. The error says why they would take more memory than the
// bundles that people use, which have all public CAs.
func Trusted(content []byte) ([]byte, error) {
	if err := CheckBundle(content); err != nil {
		return nil, err
	}
	bundle := ParseBundle(content)
	if len(bundle) == 0 {
		return nil, errors.New("it contains no PEM certificate")
	}
	n := 0
	for _, cert := range bundle {
		n += parts(cert)
	}
	if n > maxParts {
		return nil, fmt.Errorf("its certificates have %d names and extensions, and the operator uses at most %d", n, maxParts)
	}
	return bundle.PEM(), nil
}

// parts returns how many parts of a certificate take memory of their own.
func parts(c *x509.Certificate) int {
	return len(c.Subject.Names) + len(c.Issuer.Names) + len(c.Extensions) + len(c.UnhandledCriticalExtensions) +
		len(c.DNSNames) + len(c.EmailAddresses) + len(c.IPAddresses) + len(c.URIs) + len(c.ExtKeyUsage) + len(c.UnknownExtKeyUsage) +
		len(c.OCSPServer) + len(c.IssuingCertificateURL) + len(c.CRLDistributionPoints) + len(c.Policies) + len(c.PolicyIdentifiers) + len(c.PolicyMappings) +
		len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) + len(c.PermittedIPRanges) + len(c.ExcludedIPRanges) +
		len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses) + len(c.PermittedURIDomains) + len(c.ExcludedURIDomains)
}
