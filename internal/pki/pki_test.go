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

func newTestCA(t *testing.T) *CA {
	t.Helper()
	a, err := NewCA("example etcd", noon, 100*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var server = Request{
	CommonName: "server", DNSNames: []string{"*.example.ns.svc", "localhost"}, Addresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	Server: true, Client: true,
}

func TestIssuedCertificateIsValidForItsNamesUsagesAndPeriod(t *testing.T) {
	a := newTestCA(t)
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
		"server name":          {DNSName: "one.example.ns.svc", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"client":               {DNSName: "localhost", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"IP address":           {DNSName: "127.0.0.1"},
		"clock 4 minutes slow": {CurrentTime: noon.Add(-4 * time.Minute)},
		"end of validity":      {CurrentTime: noon.Add(time.Hour)},
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
		"different name": {DNSName: "one.other.ns.svc", CurrentTime: noon},
		"after expiry":   {CurrentTime: noon.Add(time.Hour + time.Second)},
	} {
		options.Roots = roots
		if _, err := leaf.Verify(options); err == nil {
			t.Errorf("%s: the certificate was accepted", what)
		}
	}
}

func TestIssuedCertificateExpiresNoLaterThanItsCA(t *testing.T) {
	a := newTestCA(t)
	pair, err := a.Issue(server, noon, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := pair.Leaf()
	if err != nil || leaf.NotAfter.After(a.Certificate().NotAfter) {
		t.Errorf("the certificate expires at %s, the CA at %s (%v)", leaf.NotAfter, a.Certificate().NotAfter, err)
	}
}

func TestTwoCAsOfOneClusterHaveDifferentNames(t *testing.T) {
	a, b := newTestCA(t), newTestCA(t)
	if a.Certificate().Subject.String() == b.Certificate().Subject.String() {
		t.Errorf("both are %s", a.Certificate().Subject)
	}
}

func TestParseCARejectsInvalidPairs(t *testing.T) {
	a, b := newTestCA(t), newTestCA(t)
	leaf, err := a.Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		pair Pair
		want string
	}{
		"an empty pair":                  {Pair{}, "no PEM"},
		"the key of another CA":          {Pair{Cert: a.Cert, Key: b.Key}, "does not belong to its certificate"},
		"a certificate that is not a CA": {leaf, "not a CA certificate"},
		"a key that is not PEM":          {Pair{Cert: a.Cert, Key: []byte("secret stuff")}, "not PEM"},
		"a certificate as the key":       {Pair{Cert: a.Cert, Key: a.Cert}, "not an EC private key"},
		"a key as the certificate":       {Pair{Cert: a.Key, Key: a.Key}, "no PEM certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseCA(test.pair)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret stuff") {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := ParseCA(a.Pair); err != nil {
		t.Errorf("a valid CA: %v", err)
	}
}

func TestCheckReportsWhatDiffersFromTheRequest(t *testing.T) {
	a, b := newTestCA(t), newTestCA(t)
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
		"an unchanged request":       {server, pair, ""},
		"another order of DNS names": {change(func(r *Request) { r.DNSNames = []string{"localhost", "*.example.ns.svc"} }), pair, ""},
		"another common name":        {change(func(r *Request) { r.CommonName = "x" }), pair, "common name"},
		"another DNS name":           {change(func(r *Request) { r.DNSNames = []string{"x", "localhost"} }), pair, "DNS names"},
		"another address":            {change(func(r *Request) { r.Addresses = nil }), pair, "addresses"},
		"another key usage":          {change(func(r *Request) { r.Client = false }), pair, "key usages"},
		"another's key":              {server, Pair{Cert: pair.Cert, Key: b.Key}, "certificate and key"},
		"no key":                     {server, Pair{Cert: pair.Cert}, "missing"},
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

func TestBundleComparesAndMergesCertificates(t *testing.T) {
	a, b := newTestCA(t), newTestCA(t)
	one, both := ParseBundle(a.Cert), ParseBundle(a.Cert, []byte("\nnoise\n"), b.Cert, a.Cert)
	if len(both) != 2 || !both.Has(one) || one.Has(both) || !one.Has(nil) {
		t.Errorf("%d in the bundle of two; has %v, %v", len(both), both.Has(one), one.Has(both))
	}
	if !bytes.Equal(both.PEM(), append(bytes.Clone(a.Cert), b.Cert...)) {
		t.Error("a bundle changed when it was parsed and encoded")
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

func TestCertificateOfAnIntermediateCountsAsSignedByTheRoot(t *testing.T) {
	root := newTestCA(t)
	pair, err := sign(&x509.Certificate{
		SerialNumber: root.Certificate().SerialNumber, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: noon, NotAfter: noon.Add(time.Hour),
	}, root)
	if err != nil {
		t.Fatal(err)
	}
	middle, err := ParseCA(pair)
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

func TestIssuedPairIsAcceptedByCryptoTLS(t *testing.T) {
	pair, err := newTestCA(t).Issue(server, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		t.Error(err)
	}
}
