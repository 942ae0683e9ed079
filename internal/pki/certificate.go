package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// Request is what a certificate is issued for.
type Request struct {
	// CommonName is the user name that etcd reads from the certificate if its authentication is enabled.
	CommonName string
	// DNSNames and Addresses are the names of a server; both are empty for a client.
	DNSNames  []string
	Addresses []net.IP
	// Server and Client are the ends of a connection that the certificate may be used for.
	Server, Client bool
}

// Issue creates a key and a certificate for it. The certificate is valid for duration from now, but never longer than
// the CA.
func (c *CA) Issue(r Request, now time.Time, duration time.Duration) (Pair, error) {
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	end := now.Add(duration)
	if end.After(c.cert.NotAfter) {
		end = c.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: r.CommonName},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           r.usages(),
		BasicConstraintsValid: true,
		DNSNames:              r.DNSNames,
		IPAddresses:           r.Addresses,
	}
	pair, err := sign(template, c)
	if err != nil {
		return Pair{}, fmt.Errorf("issue the certificate of %s: %w", r.CommonName, err)
	}
	return pair, nil
}

func (r Request) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if r.Server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	if r.Client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	return usages
}

// Check returns nil if the pair fits the request, and otherwise why it must be reissued. It ignores the validity period.
func (r Request) Check(pair Pair) error {
	cert, err := pair.Leaf()
	if err != nil {
		return err
	}
	switch {
	case cert.Subject.CommonName != r.CommonName:
		return errors.New("its common name differs from the requested one")
	case !sameNames(cert.DNSNames, r.DNSNames):
		return errors.New("its DNS names differ from the requested ones")
	case !slices.EqualFunc(cert.IPAddresses, r.Addresses, net.IP.Equal):
		return errors.New("its addresses differ from the requested ones")
	case !slices.Equal(cert.ExtKeyUsage, r.usages()):
		return errors.New("its key usages differ from the requested ones")
	}
	return nil
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// Leaf reads the pair's certificate and checks that the key belongs to it. Its errors never contain the content.
func (p Pair) Leaf() (*x509.Certificate, error) {
	if len(p.Cert) == 0 || len(p.Key) == 0 {
		return nil, errors.New("the certificate or its key is missing")
	}
	pair, err := ParsePair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate and key: %w", err)
	}
	return pair.Leaf, nil
}

// RequestedLeaf is Leaf for a key that the operator has made or requested, which is one of ECDSA. It refuses any other one before it reads it: a cluster has
// many of them, and whoever writes the Secrets decides what they hold.
func (p Pair) RequestedLeaf() (*x509.Certificate, error) {
	if len(p.Key) <= maxContent {
		if err := eachKey(p.Key, refuseRSA); err != nil {
			return nil, err
		}
	}
	return p.Leaf()
}

// Same reports whether two pairs have the same certificate and key.
func (p Pair) Same(other Pair) bool {
	return bytes.Equal(p.Cert, other.Cert) && bytes.Equal(p.Key, other.Key)
}

// FirstToExpire returns the certificate that expires first, and nil if there is none. It reads the first certificate of each PEM
// text, which is that of the server or client itself.
func FirstToExpire(texts ...[]byte) *x509.Certificate {
	var first *x509.Certificate
	for _, text := range texts {
		block, _ := pem.Decode(text)
		if block == nil {
			continue
		}
		if c, err := parse(block.Bytes); err == nil && (first == nil || c.NotAfter.Before(first.NotAfter)) {
			first = c
		}
	}
	return first
}
