package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// Request says what a certificate is for.
type Request struct {
	// CommonName is the name that etcd takes for a user's where its authentication is on.
	CommonName string
	// DNSNames and Addresses that a server answers under; none for a client.
	DNSNames  []string
	Addresses []net.IP
	// Server and Client say which ends of a connection the certificate is good for.
	Server, Client bool
}

// Issue makes a key and a certificate for it, good for duration from now on but never longer than the authority.
func (a *Authority) Issue(r Request, now time.Time, duration time.Duration) (Pair, error) {
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	end := now.Add(duration)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
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
	pair, err := sign(template, a)
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

// Check says what is wrong with a pair for a request: nothing, or why it must be made anew. Time is not looked at.
func (r Request) Check(pair Pair) error {
	cert, err := pair.Leaf()
	if err != nil {
		return err
	}
	switch {
	case cert.Subject.CommonName != r.CommonName:
		return errors.New("its common name is another")
	case !sameNames(cert.DNSNames, r.DNSNames):
		return errors.New("its DNS names are others")
	case !slices.EqualFunc(cert.IPAddresses, r.Addresses, net.IP.Equal):
		return errors.New("its addresses are others")
	case !slices.Equal(cert.ExtKeyUsage, r.usages()):
		return errors.New("its uses are others")
	}
	return nil
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// Leaf reads the pair's certificate and checks that the key is its own. Errors never hold content.
func (p Pair) Leaf() (*x509.Certificate, error) {
	if len(p.Cert) == 0 || len(p.Key) == 0 {
		return nil, errors.New("certificate or key is missing")
	}
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	return pair.Leaf, nil
}

// Same says whether two pairs hold the same certificate and key.
func (p Pair) Same(other Pair) bool {
	return bytes.Equal(p.Cert, other.Cert) && bytes.Equal(p.Key, other.Key)
}
