package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// TLSConfig makes a client's TLS from a certificate, its key and the authority of the servers, all PEM.
// Errors name what is wrong and never the content.
func TLSConfig(cert, key, ca []byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate and key: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("certificate authority: no PEM certificate in it")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
