package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

var errNoCertificate = errors.New("the server sends no certificate")

// Shown returns the certificate that the server at address (host and port) presents. It does not verify the certificate:
// the caller compares it with the expected one.
func Shown(ctx context.Context, address string) (*x509.Certificate, error) {
	var shown *x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // G402: no data is sent; only the certificate is read
		MinVersion:         tls.VersionTLS12,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 {
				shown = state.PeerCertificates[0]
			}
			return nil
		},
	}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	if shown != nil {
		// The server may refuse a client without a certificate, but it has sent its own before.
		return shown, nil
	}
	return nil, fmt.Errorf("read the certificate of the server at %s: %w", address, cmp.Or(err, errNoCertificate))
}
