package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
)

// Bundle is a set of authorities that are trusted: their certificates in the order in which they stand in a file.
type Bundle []*x509.Certificate

// ParseBundle reads all certificates of PEM content, each once. What is no certificate is left out.
func ParseBundle(contents ...[]byte) Bundle {
	var bundle Bundle
	for _, content := range contents {
		for {
			var block *pem.Block
			if block, content = pem.Decode(content); block == nil {
				break
			}
			if block.Type != "CERTIFICATE" {
				continue
			}
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				bundle = bundle.With(Bundle{cert})
			}
		}
	}
	return bundle
}

// PEM is the bundle as a file.
func (b Bundle) PEM() []byte {
	var content bytes.Buffer
	for _, cert := range b {
		content.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return content.Bytes()
}

// Has says whether all of others are in the bundle.
func (b Bundle) Has(others Bundle) bool {
	for _, other := range others {
		if !slices.ContainsFunc(b, other.Equal) {
			return false
		}
	}
	return true
}

// With is the bundle and those of others that it does not have, after its own.
func (b Bundle) With(others Bundle) Bundle {
	all := slices.Clone(b)
	for _, other := range others {
		if !slices.ContainsFunc(all, other.Equal) {
			all = append(all, other)
		}
	}
	return all
}

// Signed says whether one of the bundle signed the certificate, itself or by way of the intermediates. Time, names and
// uses are not looked at.
func (b Bundle) Signed(cert *x509.Certificate, intermediates Bundle) bool {
	return b.signed(cert, intermediates, len(intermediates))
}

func (b Bundle) signed(cert *x509.Certificate, intermediates Bundle, depth int) bool {
	for _, authority := range b {
		if cert.CheckSignatureFrom(authority) == nil {
			return true
		}
	}
	if depth == 0 {
		return false
	}
	for _, authority := range intermediates {
		if !authority.Equal(cert) && cert.CheckSignatureFrom(authority) == nil && b.signed(authority, intermediates, depth-1) {
			return true
		}
	}
	return false
}

// Fingerprint is 16 hex digits that tell bundles apart by what they trust: order and repetition do not matter. That of
// an empty one is empty.
func (b Bundle) Fingerprint() string {
	if len(b) == 0 {
		return ""
	}
	sums := make([]string, len(b))
	for i, cert := range b {
		sum := sha256.Sum256(cert.Raw)
		sums[i] = string(sum[:])
	}
	slices.Sort(sums)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sums), "")))
	return hex.EncodeToString(sum[:8])
}

// Fingerprint is 16 hex digits of any content.
func Fingerprint(contents ...[]byte) string {
	sum := sha256.New()
	for _, content := range contents {
		part := sha256.Sum256(content)
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
