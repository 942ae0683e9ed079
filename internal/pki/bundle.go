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

// Bundle is a set of trusted CA certificates, in the order of their file.
type Bundle []*x509.Certificate

// ParseBundle reads all certificates in PEM content. It skips repeated certificates and everything else.
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

// PEM returns the bundle as the content of a PEM file.
func (b Bundle) PEM() []byte {
	var content bytes.Buffer
	for _, cert := range b {
		content.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return content.Bytes()
}

// Has reports whether the bundle contains all of others.
func (b Bundle) Has(others Bundle) bool {
	for _, other := range others {
		if !slices.ContainsFunc(b, other.Equal) {
			return false
		}
	}
	return true
}

// With returns the bundle followed by those of others that it does not contain.
func (b Bundle) With(others Bundle) Bundle {
	all := slices.Clone(b)
	for _, other := range others {
		if !slices.ContainsFunc(all, other.Equal) {
			all = append(all, other)
		}
	}
	return all
}

// Signed reports whether a CA of the bundle signed the certificate, directly or through the intermediates. It ignores
// validity periods, names and key usages.
func (b Bundle) Signed(cert *x509.Certificate, intermediates Bundle) bool {
	return b.signed(cert, intermediates, len(intermediates))
}

func (b Bundle) signed(cert *x509.Certificate, intermediates Bundle, depth int) bool {
	for _, ca := range b {
		if cert.CheckSignatureFrom(ca) == nil {
			return true
		}
	}
	if depth == 0 {
		return false
	}
	for _, ca := range intermediates {
		if !ca.Equal(cert) && cert.CheckSignatureFrom(ca) == nil && b.signed(ca, intermediates, depth-1) {
			return true
		}
	}
	return false
}

// Fingerprint returns 16 hex digits that are equal for bundles of the same certificates, in any order. The fingerprint
// of an empty bundle is empty.
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

// Fingerprint returns 16 hex digits of any content.
func Fingerprint(contents ...[]byte) string {
	sum := sha256.New()
	for _, content := range contents {
		part := sha256.Sum256(content)
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
