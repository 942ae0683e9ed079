package etcd

import (
	"crypto/tls"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/pki"
)

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
