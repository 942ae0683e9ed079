package plan

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// slowKey is a key of RSA with 8192 bits. It has many short primes, because those of an honest key take minutes to find.
type slowKey struct {
	primes []*big.Int
	public rsa.PublicKey
}

func newSlowKey(t *testing.T) *slowKey {
	t.Helper()
	k := &slowKey{public: rsa.PublicKey{N: big.NewInt(1), E: 65537}}
	for range 32 {
		prime, err := rand.Prime(rand.Reader, 256)
		if err != nil {
			t.Fatal(err)
		}
		k.primes = append(k.primes, prime)
		k.public.N.Mul(k.public.N, prime)
	}
	return k
}

func (k *slowKey) Public() crypto.PublicKey { return &k.public }

// Sign writes a signature of PKCS #1 v1.5 with SHA-256.
func (k *slowKey) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	info := append([]byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}, digest...)
	padded := slices.Repeat([]byte{0xff}, k.public.Size())
	padded[0], padded[1], padded[len(padded)-len(info)-1] = 0, 1, 0
	copy(padded[len(padded)-len(info):], info)
	message, sum := new(big.Int).SetBytes(padded), new(big.Int)
	for _, p := range k.primes {
		order := new(big.Int).Sub(p, big.NewInt(1))
		exponent := new(big.Int).ModInverse(big.NewInt(int64(k.public.E)), order)
		rest := new(big.Int).Div(k.public.N, p)
		part := new(big.Int).Exp(message, exponent, p)
		part.Mul(part, new(big.Int).ModInverse(rest, p)).Mod(part, p)
		sum.Add(sum, part.Mul(part, rest))
	}
	return sum.Mod(sum, k.public.N).FillBytes(make([]byte, k.public.Size())), nil
}

// certify returns the certificate of a CA of one name, or of a user, in PEM.
func (k *slowKey) certify(t *testing.T, user string, public crypto.PublicKey) []byte {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	parent := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: parent.Subject, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(1000 * time.Hour),
		IsCA: user == "", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, SignatureAlgorithm: x509.SHA256WithRSA,
	}
	if user != "" {
		template.Subject.CommonName, template.KeyUsage = user, x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A tenant had a hundred users, whose issuer wrote intermediates and CAs of one name with large keys. Each user had a limit of 400 signatures, several times in
// each judgement. So one pass checked signatures for minutes, and a few such clusters held the processors of the operator.
func TestTheCertificatesOfManyUsersAreJudgedInTime(t *testing.T) {
	w := newRotation(t, 1, issuedFor(time.Hour))
	w.certify()
	w.s.Spec.Auth.Users, w.m.UsersIssued = nil, map[string]*material.Secret{}
	signer, other := newSlowKey(t), newSlowKey(t)
	cas := signer.certify(t, "", signer.Public())
	for range 30 {
		cas = append(cas, signer.certify(t, "", other.Public())...)
	}
	var intermediates []byte
	for range 15 {
		intermediates = append(intermediates, signer.certify(t, "", signer.Public())...)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	for n := range 16 {
		user := fmt.Sprintf("user-%d", n)
		w.s.Spec.Auth.Users = append(w.s.Spec.Auth.Users, v1beta2.AuthUser{Name: user, Certificate: &v1beta2.AuthCertificate{}})
		w.m.UsersIssued[user] = &material.Secret{Data: map[string][]byte{
			material.IssuedCertKey: append(signer.certify(t, user, &private.PublicKey), intermediates...), material.IssuedKeyKey: key, material.IssuedCAKey: cas,
		}}
	}
	tooLong := time.NewTimer(30 * time.Second)
	defer tooLong.Stop()
	w.m.UserChecks = material.NewUserChecks()
	for user := range w.m.UsersIssued { // as observe does
		if material.UnfitForUser(w.m, w.s, user) != "" {
			delete(w.m.UsersIssued, user)
		}
	}
	w.judge()
	for _, due := range slices.Concat(w.s.UserCertificates.Due, w.s.UserCertificates.Outdated) {
		_, _ = material.NewUserSecret(w.m, w.s, due.User, steps.WriteUserCertificates{Switch: true})
	}
	select {
	case <-tooLong.C:
		t.Errorf("the judgement of 16 users took more than 30 s")
	default:
	}
}

// A tenant had a hundred users with keys of RSA with 8192 bits. Each judgement read each of them several times, at 20 ms each. No honest key of a user is one of
// RSA, because the operator requests others.
func TestTheKeyOfAUserOfRSAIsRefusedBeforeItIsRead(t *testing.T) {
	w := newRotation(t, 1, issuedFor(time.Hour))
	w.certify()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	cert := newSlowKey(t).certify(t, "shop", &private.PublicKey)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{
		"PKCS #1": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}),
		"PKCS #8": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	} {
		w.m.UsersIssued = map[string]*material.Secret{"shop": {Data: map[string][]byte{material.IssuedCertKey: cert, material.IssuedKeyKey: key, material.IssuedCAKey: cert}}}
		if why := material.UnfitForUser(w.m, w.s, "shop"); !strings.Contains(why, "ECDSA") {
			t.Errorf("%s: it is not used because of %q", name, why)
		}
		w.m.Users = map[string]*material.Secret{"shop": {Data: map[string][]byte{v1beta2.ClientCertKey: cert, v1beta2.ClientKeyKey: key}}}
		w.judge()
	}
}
