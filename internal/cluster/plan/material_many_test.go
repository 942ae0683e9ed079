package plan

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// sameName returns that many CA certificates of one name. Their keys differ from that of what follows, so that no signature is right.
func sameName(t *testing.T, n int) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var content []byte
	for serial := range n {
		tpl := &x509.Certificate{SerialNumber: big.NewInt(int64(serial) + 100), NotAfter: noon.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return content
}

// selfSigned returns a certificate with that many intermediates of its name, and the key.
func selfSigned(t *testing.T, intermediates int) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: noon.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), sameName(t, intermediates)...)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// A user must know which Secret has too many CA certificates, whichever it is. Otherwise the operator would compare them for minutes.
func TestEachSecretWithTooManyCAsIsNamed(t *testing.T) {
	cas := sameName(t, 2000)
	for name, add := range map[string]func(m *material.Material){
		"example-ca": func(m *material.Material) { m.CA.Data[material.PreviousCACertKey] = cas },
		"example" + state.Usages[1].Suffix: func(m *material.Material) {
			m.HandedOut[state.Usages[1].Name].Data[state.Usages[1].CaKey] = cas
		},
		"of Certificate example" + state.Usages[1].Certificate: func(m *material.Material) {
			m.Issued = map[string]*material.Secret{state.Usages[1].Name: {Data: map[string][]byte{material.IssuedCAKey: cas}}}
		},
	} {
		w := newRotation(t, 1, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}})
		add(&w.m)
		if problem := w.m.TooMany(w.s); !strings.Contains(problem, "Secret "+name+" ") {
			t.Errorf("%s: %q", name, problem)
		}
	}
}

// A tenant wrote many CA certificates of one name into the Secrets of a cluster. One pass checked each certificate with each CA for more than a
// minute, and a few such clusters held all passes of the operator.
func TestManyCAsAreJudgedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		cas, intermediates int
		unjudged           bool
	}{
		"as many as fit into a Secret": {2000, 100, false},
		"as many as are compared":      {150, 100, true},
		"usual ones":                   {10, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}})
			cas := sameName(t, c.cas)
			for _, u := range state.Usages {
				data := w.m.HandedOut[u.Name].Data
				data[u.CertKey], data[u.KeyKey] = selfSigned(t, c.intermediates)
				data[u.CaKey] = bytes.Join([][]byte{data[u.CaKey], cas}, nil)
			}
			tooLong := time.NewTimer(10 * time.Second)
			defer tooLong.Stop()
			problem := w.m.TooMany(w.s)
			var judged state.Certificates
			if problem == "" {
				judged = w.m.Judge(w.s, state.Certificates{})
			}
			select {
			case <-tooLong.C:
				t.Error("the judgement took more than 10 s")
			default:
			}
			if tooMany := c.cas > 1000; tooMany != strings.Contains(problem, "Remove those") || judged.Unjudged != c.unjudged {
				t.Errorf("unjudged %t, problem %q", judged.Unjudged, problem)
			}
			if _, err := w.m.NewSecret(w.s, state.Usages[0], steps.WriteCertificates{Drop: true}); c.unjudged && err == nil {
				t.Error("CAs are dropped although not all signatures were checked")
			}
		})
	}
}
