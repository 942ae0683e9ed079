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

// Backdate is how far in the past a certificate's validity begins. It lets a machine use the certificate even if its
// clock is slow.
const Backdate = 5 * time.Minute

// Pair is a certificate and its private key, both PEM.
type Pair struct{ Cert, Key []byte }

// CA is a certificate authority: a certificate that signs others, and its key.
type CA struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA creates a CA that is valid for duration from now. Its common name holds a part of its serial number: TLS looks
// up a CA by its name, so two CAs of one cluster need different names.
func NewCA(name string, now time.Time, duration time.Duration) (*CA, error) {
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
		return nil, fmt.Errorf("create CA %s: %w", name, err)
	}
	return ParseCA(pair)
}

// ParseCA reads a CA and checks that the key belongs to the certificate. Its errors never contain the content.
func ParseCA(pair Pair) (*CA, error) {
	cert, err := ParseCertificate(pair.Cert)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.Key)
	if block == nil {
		return nil, errors.New("the CA's key is not PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the CA's key is not an EC private key")
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the CA's key does not belong to its certificate")
	}
	if !cert.IsCA {
		return nil, errors.New("the CA's certificate is not a CA certificate")
	}
	return &CA{Pair: pair, cert: cert, key: key}, nil
}

// Certificate returns the CA's certificate.
func (c *CA) Certificate() *x509.Certificate { return c.cert }

// ParseCertificate reads the first certificate in PEM content.
func ParseCertificate(content []byte) (*x509.Certificate, error) {
	for {
		var block *pem.Block
		block, content = pem.Decode(content)
		if block == nil {
			return nil, errors.New("it contains no PEM certificate")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		return parse(block.Bytes)
	}
}

// sign creates a key and a certificate for it, signed by the CA. If by is nil, the certificate is self-signed.
func sign(template *x509.Certificate, by *CA) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("create a key: %w", err)
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

// newSerial returns a random positive number of 16 bytes, whose DER encoding has a fixed length.
func newSerial() (*big.Int, error) {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	bytes[0] = bytes[0]&0x3f | 0x40
	return new(big.Int).SetBytes(bytes), nil
}
