package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-suite/etcd-operator/internal/legible"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Credentials are those for an endpoint, as in etcd's client, whose errors have no names of the server's certificate.
func Credentials(endpoint string, config *tls.Config) credentials.TransportCredentials {
	if config == nil || !strings.HasPrefix(endpoint, "https:") {
		return insecure.NewCredentials()
	}
	return legibly{credentials.NewTLS(config)}
}

type legibly struct {
	credentials.TransportCredentials
}

func (l legibly) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if about := legible.Certificate(err); about != nil {
		err = about
	}
	return secured, info, err
}

func (l legibly) Clone() credentials.TransportCredentials {
	return legibly{l.TransportCredentials.Clone()}
}

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

// TLSConfig returns a client's TLS configuration from a certificate, its key and the CA of the servers, all PEM. Its
// errors never contain the content.
func TLSConfig(cert, key, ca []byte) (*tls.Config, error) {
	pair, err := pki.ParsePair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read client certificate and key: %w", err)
	}
	pair.Leaf = nil // crypto/tls parses it in a full handshake; parsed, it takes 2.5 KB for each of many configurations that are kept
	pool, err := pki.Pool(ca)
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
