// Package pkitest makes keys that no honest user has.
package pkitest

import (
	"crypto/rand"
	"encoding/asn1"
	"math/big"
	"testing"
)

// HugeKey returns an RSA key of 65,536 bits in the form of PKCS #1, in DER. It has the size of such a key and is none, because to make one takes
// minutes, as it takes to read one.
func HugeKey(t testing.TB) []byte {
	t.Helper()
	odd := func(bits int) *big.Int {
		b := make([]byte, bits/8)
		_, _ = rand.Read(b)
		b[0], b[len(b)-1] = b[0]|0xc0, b[len(b)-1]|1
		return new(big.Int).SetBytes(b)
	}
	p, q := odd(32768), odd(32768)
	der, err := asn1.Marshal(struct {
		Version int
		N       *big.Int
		E       int
		D, P, Q *big.Int
	}{0, new(big.Int).Mul(p, q), 65537, odd(32768), p, q})
	if err != nil {
		t.Fatal(err)
	}
	return der
}
