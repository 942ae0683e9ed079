package legible

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Certificate returns an error about the certificate of a server without the names in it. Who runs the server has chosen them, and a user may
// name a server that only the operator reaches. It returns nil if err is not about a certificate.
func Certificate(err error) error {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &host):
		return fmt.Errorf("the certificate of the server is not valid for %s, to which the operator connects", host.Host)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("tls: failed to verify certificate: %w", x509.UnknownAuthorityError{}) // without its hint
	case errors.As(err, &invalid):
		if invalid.Reason != x509.Expired { // its detail is a time
			invalid.Detail = ""
		}
		return errors.New("tls: failed to verify certificate: " + strings.TrimSuffix(invalid.Error(), ": "))
	case errors.As(err, &verification), err != nil && strings.Contains(err.Error(), "x509: "):
		return errors.New("the certificate of the server cannot be read or verified")
	}
	return nil
}
