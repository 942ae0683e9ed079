package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Backdate is how far in the past a certificate begins, for clocks that are behind the one that made it.
const Backdate = 5 * time.Minute

// Pair is a certificate and its private key, PEM.
type Pair struct{ Cert, Key []byte }

// Authority is a certificate that signs others, with its key.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority that is good for duration from now on. Part of its serial number is in its name, so
// that two authorities of one cluster are told apart by everyone who reads no more than names, and TLS does.
func NewAuthority(name string, now time.Time, duration time.Duration) (*Authority, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s %x", name, serial.Bytes()[:4])},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              now.Add(duration),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	return ParseAuthority(pair)
}

// ParseAuthority reads an authority and checks that the key is that of the certificate. Errors never hold content.
func ParseAuthority(pair Pair) (*Authority, error) {
	cert, err := ParseCertificate(pair.Cert)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.Key)
	if block == nil {
		return nil, errors.New("the authority's key is no PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the authority's key is no EC private key")
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the authority's key is not that of its certificate")
	}
	if !cert.IsCA {
		return nil, errors.New("the authority's certificate is not one of an authority")
	}
	return &Authority{Pair: pair, cert: cert, key: key}, nil
}

// Certificate of the authority.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// ParseCertificate reads the first certificate of a PEM file.
func ParseCertificate(content []byte) (*x509.Certificate, error) {
	for {
		var block *pem.Block
		block, content = pem.Decode(content)
		if block == nil {
			return nil, errors.New("no PEM certificate in it")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificate: %w", err)
		}
		return cert, nil
	}
}

// sign makes a key and a certificate for it, signed by the authority; nil has it sign itself.
func sign(template *x509.Certificate, by *Authority) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key: %w", err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode a key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	}, nil
}

// newSerial is a positive number of 16 bytes.
func newSerial() (*big.Int, error) {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	bytes[0] = bytes[0]&0x3f | 0x40
	return new(big.Int).SetBytes(bytes), nil
}
