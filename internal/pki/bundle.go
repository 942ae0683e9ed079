package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
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
			if cert, err := parse(block.Bytes); err == nil {
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

const (
	// maxCAs and maxBundle limit the CA certificates of one Secret, and their PEM. The CAs of a browser are about 150.
	maxCAs    = 200
	maxBundle = 256 << 10
)

// CheckBundle returns why CA certificates in PEM are too many to be compared. It parses nothing.
func CheckBundle(content []byte) error {
	if n := bytes.Count(content, []byte("-----BEGIN")); n > maxCAs {
		return fmt.Errorf("it has %d certificates, and the operator compares at most %d", n, maxCAs)
	}
	if len(content) > maxBundle {
		return fmt.Errorf("it has %d KiB, and the operator reads at most %d KiB", len(content)>>10, maxBundle>>10)
	}
	return nil
}

// Checks limits how many signatures are checked together. It knows the result of those that were checked before, which count once.
type Checks struct {
	left  int
	known map[[sha256.Size]byte]bool
}

// NewChecks allows that many checks.
func NewChecks(most int) *Checks { return &Checks{left: most, known: map[[sha256.Size]byte]bool{}} }

// Exceeded reports whether a check was left out, so that what Signers returned may be incomplete.
func (c *Checks) Exceeded() bool { return c.left < 0 }

func (c *Checks) signs(ca, cert *x509.Certificate) bool {
	if !bytes.Equal(ca.RawSubject, cert.RawIssuer) {
		return false
	}
	pair := sha256.Sum256(slices.Concat(ca.Raw, cert.Raw)) // each has its length at the beginning
	if signs, is := c.known[pair]; is || c.Exceeded() {
		return signs
	}
	if c.left--; c.Exceeded() {
		return false
	}
	c.known[pair] = cert.CheckSignatureFrom(ca) == nil
	return c.known[pair]
}

// maxChecks is how many signatures Signed checks. crypto/x509 has the same limit, because the work grows with the square of the certificates.
const maxChecks = 100

// Signed reports whether a CA of the bundle signed the certificate, directly or through the intermediates. It ignores
// validity periods and key usages.
func (b Bundle) Signed(cert *x509.Certificate, intermediates Bundle) bool {
	return len(b.Signers(cert, intermediates, NewChecks(maxChecks))) > 0
}

// Signers returns the CAs of the bundle that signed the certificate, directly or through the intermediates, in the order in which they are found.
func (b Bundle) Signers(cert *x509.Certificate, intermediates Bundle, checks *Checks) Bundle {
	var signers Bundle
	others, left := slices.Clone(b), slices.Clone(intermediates)
	for next := []*x509.Certificate{cert}; len(next) > 0; next = next[1:] {
		others = slices.DeleteFunc(others, func(ca *x509.Certificate) bool {
			above := checks.signs(ca, next[0])
			if above {
				signers = append(signers, ca)
			}
			return above
		})
		left = slices.DeleteFunc(left, func(ca *x509.Certificate) bool {
			above := !ca.Equal(next[0]) && checks.signs(ca, next[0])
			if above {
				next = append(next, ca)
			}
			return above
		})
	}
	return signers
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
