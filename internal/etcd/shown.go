package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

var errNoneShown = errors.New("the server shows none")

// Shown is the certificate that a server at address (host and port) shows to whoever connects. It is not judged: the
// caller compares it with the one that is expected.
func Shown(ctx context.Context, address string) (*x509.Certificate, error) {
	var shown *x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // nothing is sent; the certificate is only looked at
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
		// The server may refuse a client without a certificate, and it may say so at once. It was seen all the same.
		return shown, nil
	}
	return nil, fmt.Errorf("see the certificate of %s: %w", address, cmp.Or(err, errNoneShown))
}
