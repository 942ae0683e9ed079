package pki

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// Keys and certificates come from Secrets that anybody in a namespace may write. To read a large RSA key takes minutes, and no context ends it. So
// all of them are read by the functions of this file and of bundle.go, which refuse what no honest key has before they compute anything.

const (
	// maxRSABits is what crypto/tls accepts of a peer, too.
	maxRSABits = 8192
	// maxContent is the most that a certificate with its intermediates, or a private key, may have in PEM, in bytes.
	maxContent = 64 << 10
)

var errLargeKey = fmt.Errorf("an RSA key may have at most %d bits", maxRSABits)

// ParsePair reads a certificate with its intermediates and its key, in PEM. Its errors never contain the content.
func ParsePair(cert, key []byte) (tls.Certificate, error) {
	if len(cert) > maxContent || len(key) > maxContent {
		return tls.Certificate{}, fmt.Errorf("a certificate and its key may have at most %d bytes each", maxContent)
	}
	if err := CheckKey(key); err != nil {
		return tls.Certificate{}, err
	}
	for rest := cert; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			if _, err := parse(block.Bytes); err != nil {
				return tls.Certificate{}, err
			}
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, err //nolint:wrapcheck // the caller says what it reads
	}
	return pair, nil
}

// CheckKey returns why private keys are too large to be read. What is no key at all is not its business. A PEM block of any type counts, and
// content without one, because the libraries that read keys of stores ignore the type and take DER, too.
func CheckKey(content []byte) error {
	if len(content) > maxContent {
		return fmt.Errorf("a private key may have at most %d bytes", maxContent)
	}
	return eachKey(content, checkDER)
}

// eachKey calls check with content, and with each PEM block in it, until it returns an error.
func eachKey(content []byte, check func(der []byte) error) error {
	if err := check(content); err != nil {
		return err
	}
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return nil
		}
		if err := check(block.Bytes); err != nil {
			return err
		}
	}
}

// checkDER refuses an RSA key with large or with more than two primes.
func checkDER(der []byte) error {
	numbers := numbersOfRSA(der)
	if numbers == nil {
		return nil
	}
	n, prime := numbers[1].BitLen(), max(numbers[4].BitLen(), numbers[5].BitLen())
	if n > maxRSABits || prime > maxRSABits/2+1 || numbers[3].BitLen() > maxRSABits || numbers[0].Sign() != 0 {
		return errLargeKey
	}
	return nil
}

var errRSA = errors.New("its key is one of RSA, and the operator requests keys of ECDSA")

// refuseRSA refuses each RSA key. To read one takes up to 20 ms, and one of ECDSA a hundredth of that.
func refuseRSA(der []byte) error {
	if numbersOfRSA(der) != nil {
		return errRSA
	}
	return nil
}

// numbersOfRSA returns the first numbers of an RSA key in PKCS #1 or PKCS #8, and nil for a key of another kind.
func numbersOfRSA(der []byte) []*big.Int {
	var wrapped struct {
		Version   int
		Algorithm asn1.RawValue
		Key       []byte
	}
	if _, err := asn1.Unmarshal(der, &wrapped); err == nil {
		der = wrapped.Key
	}
	if numbers := integers(der); len(numbers) == 6 {
		return numbers
	}
	return nil
}

// integers returns the numbers with which a sequence begins. It computes nothing.
func integers(der []byte) []*big.Int {
	var sequence asn1.RawValue
	if _, err := asn1.Unmarshal(der, &sequence); err != nil || sequence.Tag != asn1.TagSequence {
		return nil
	}
	var found []*big.Int
	for rest := sequence.Bytes; len(rest) > 0 && len(found) < 6; {
		n := new(big.Int)
		var err error
		if rest, err = asn1.Unmarshal(rest, &n); err != nil {
			break
		}
		found = append(found, n)
	}
	return found
}

// parse reads one certificate, and refuses a large RSA key: each signature that is checked with it takes long.
func parse(der []byte) (*x509.Certificate, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	if public, is := cert.PublicKey.(*rsa.PublicKey); is && public.N.BitLen() > maxRSABits {
		return nil, errLargeKey
	}
	return cert, nil
}
