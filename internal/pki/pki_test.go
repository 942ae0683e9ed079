package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority("example etcd", noon, 100*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var server = Request{
	CommonName: "server", DNSNames: []string{"*.example.ns.svc", "localhost"}, Addresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	Server: true, Client: true,
}

func TestAnIssuedCertificateIsGoodForItsNamesUsesAndTime(t *testing.T) {
	a := authority(t)
	pair, err := a.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := pair.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	for what, options := range map[string]x509.VerifyOptions{
		"a member":  {DNSName: "one.example.ns.svc", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"a client":  {DNSName: "localhost", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"a number":  {DNSName: "127.0.0.1"},
		"early":     {CurrentTime: noon.Add(-4 * time.Minute)},
		"at an end": {CurrentTime: noon.Add(time.Hour)},
	} {
		options.Roots = roots
		if options.CurrentTime.IsZero() {
			options.CurrentTime = noon
		}
		if _, err := leaf.Verify(options); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, options := range map[string]x509.VerifyOptions{
		"another name": {DNSName: "one.other.ns.svc", CurrentTime: noon},
		"late":         {CurrentTime: noon.Add(time.Hour + time.Second)},
	} {
		options.Roots = roots
		if _, err := leaf.Verify(options); err == nil {
			t.Errorf("%s: the certificate is good for it", what)
		}
	}
}

func TestACertificateNeverOutlivesItsAuthority(t *testing.T) {
	a := authority(t)
	pair, err := a.Issue(server, noon, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := pair.Leaf()
	if err != nil || leaf.NotAfter.After(a.Certificate().NotAfter) {
		t.Errorf("good until %s, the authority until %s (%v)", leaf.NotAfter, a.Certificate().NotAfter, err)
	}
}

func TestTwoAuthoritiesOfOneClusterHaveDifferentNames(t *testing.T) {
	a, b := authority(t), authority(t)
	if a.Certificate().Subject.String() == b.Certificate().Subject.String() {
		t.Errorf("both are %s", a.Certificate().Subject)
	}
}

func TestParseAuthorityRefusesWhatIsNotOne(t *testing.T) {
	a, b := authority(t), authority(t)
	leaf, err := a.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		pair Pair
		want string
	}{
		"nothing":                    {Pair{}, "no PEM"},
		"a key of another":           {Pair{Cert: a.Cert, Key: b.Key}, "not that of its certificate"},
		"a certificate of no CA":     {leaf, "not one of an authority"},
		"a key that is none":         {Pair{Cert: a.Cert, Key: []byte("secret stuff")}, "no PEM"},
		"a certificate for a key":    {Pair{Cert: a.Cert, Key: a.Cert}, "no EC private key"},
		"a certificate that is none": {Pair{Cert: a.Key, Key: a.Key}, "no PEM certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseAuthority(test.pair)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret stuff") {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := ParseAuthority(a.Pair); err != nil {
		t.Errorf("one that is: %v", err)
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	a, b := authority(t), authority(t)
	pair, err := a.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Request)) Request {
		r := server
		f(&r)
		return r
	}
	tests := map[string]struct {
		request Request
		pair    Pair
		want    string
	}{
		"all is well":         {server, pair, ""},
		"another order":       {change(func(r *Request) { r.DNSNames = []string{"localhost", "*.example.ns.svc"} }), pair, ""},
		"another common name": {change(func(r *Request) { r.CommonName = "x" }), pair, "common name"},
		"another DNS name":    {change(func(r *Request) { r.DNSNames = []string{"x", "localhost"} }), pair, "DNS names"},
		"another address":     {change(func(r *Request) { r.Addresses = nil }), pair, "addresses"},
		"another use":         {change(func(r *Request) { r.Client = false }), pair, "uses"},
		"another's key":       {server, Pair{Cert: pair.Cert, Key: b.Key}, "certificate and key"},
		"no key":              {server, Pair{Cert: pair.Cert}, "missing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.request.Check(test.pair)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestBundles(t *testing.T) {
	a, b := authority(t), authority(t)
	one, both := ParseBundle(a.Cert), ParseBundle(a.Cert, []byte("\nnoise\n"), b.Cert, a.Cert)
	if len(both) != 2 || !both.Has(one) || one.Has(both) || !one.Has(nil) {
		t.Errorf("%d in the bundle of two; has %v, %v", len(both), both.Has(one), one.Has(both))
	}
	if !bytes.Equal(both.PEM(), append(bytes.Clone(a.Cert), b.Cert...)) {
		t.Error("a bundle changes when it is read and written")
	}
	if one.Fingerprint() == both.Fingerprint() || both.Fingerprint() != ParseBundle(b.Cert, a.Cert).Fingerprint() || len(one.Fingerprint()) != 16 || (Bundle{}).Fingerprint() != "" {
		t.Errorf("fingerprints %q, %q", one.Fingerprint(), both.Fingerprint())
	}
	if got := one.With(both); len(got) != 2 || !got[0].Equal(a.Certificate()) {
		t.Errorf("one with both has %d", len(got))
	}
	pair, err := b.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := pair.Leaf()
	if err != nil || one.Signed(leaf, nil) || !both.Signed(leaf, nil) || !one.With(both).Signed(leaf, nil) {
		t.Errorf("signed by one %v, by both %v (%v)", one.Signed(leaf, nil), both.Signed(leaf, nil), err)
	}
}

func TestACertificateOfAnIntermediateIsSignedByTheRoot(t *testing.T) {
	root := authority(t)
	pair, err := sign(&x509.Certificate{
		SerialNumber: root.Certificate().SerialNumber, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: noon, NotAfter: noon.Add(time.Hour),
	}, root)
	if err != nil {
		t.Fatal(err)
	}
	middle, err := ParseAuthority(pair)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := middle.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := issued.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	roots := ParseBundle(root.Cert)
	if roots.Signed(leaf, nil) || !roots.Signed(leaf, ParseBundle(middle.Cert)) {
		t.Errorf("without the intermediate %v, with it %v", roots.Signed(leaf, nil), roots.Signed(leaf, ParseBundle(middle.Cert)))
	}
}

func TestAPairIsWhatTLSTakes(t *testing.T) {
	pair, err := authority(t).Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		t.Error(err)
	}
}
