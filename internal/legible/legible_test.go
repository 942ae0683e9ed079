package legible_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

func TestNoTextErasesOrHidesWhatIsAroundIt(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ä and 世界":         "plain, ä and 世界",
		"a\nb\tc\rd":              "a b c d",
		"\x1b]0;title\x07":        "�]0;title�",
		"\u0085 \u009b31m \x7f":   "� �31m �",
		"\u202eright\u202c":       "�right�",
		"\u200e\u200f\u061c":      "���",
		"\u2066isolated\u2069":    "�isolated�",
		"a\u2028b\u2029c":         "a�b�c",
		"\u202a\u202b\u202d \x00": "��� �",
	} {
		if got := legible.Line(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := legible.Short("12345678\x1b", 4); got != "1234…" {
		t.Errorf("shortened to %q", got)
	}
}

func TestAnErrorAboutACertificateHasNoNameOfIt(t *testing.T) {
	const marker = "VERYSECRETname17"
	of := &x509.Certificate{DNSNames: []string{marker}}
	for name, err := range map[string]error{
		"another name":  x509.HostnameError{Certificate: of, Host: "etcd.example.com"},
		"unknown CA":    x509.UnknownAuthorityError{Cert: of},
		"a constraint":  x509.CertificateInvalidError{Cert: of, Reason: x509.CANotAuthorizedForThisName, Detail: marker},
		"a chain":       x509.CertificateInvalidError{Cert: of, Reason: x509.NoValidChains, Detail: marker},
		"another error": errors.New("x509: cannot parse dnsName " + marker),
		"a text":        fmt.Errorf("tls: failed to parse certificate from server: x509: invalid %s", marker),
	} {
		for _, wrapped := range []error{err, fmt.Errorf("read: %w", &tls.CertificateVerificationError{Err: err})} {
			if got := legible.Certificate(wrapped); got == nil || strings.Contains(got.Error(), marker) || strings.HasSuffix(got.Error(), ": ") {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if got := legible.Certificate(x509.CertificateInvalidError{Cert: of, Reason: x509.Expired, Detail: "current time 1 is after 2"}); !strings.Contains(got.Error(), "is after 2") {
		t.Errorf("an expired certificate: %v", got)
	}
	if got := legible.Certificate(errors.New("connection refused")); got != nil || legible.Certificate(nil) != nil {
		t.Errorf("another error: %v", got)
	}
}

func TestNoLineOfALogErasesOrHidesTheTextAroundIt(t *testing.T) {
	var to strings.Builder
	line := "2026\tinfo\t" + "{\"error\":\"key \u009b2K\u202e/txt.exe\"}" + "\n"
	n, err := legible.Log(&to).Write([]byte(line))
	if want := "2026\tinfo\t" + `{"error":"key �2K�/txt.exe"}` + "\n"; to.String() != want || n != len(line) || err != nil {
		t.Errorf("%q is logged as %q (%d of %d bytes, error %v)", line, to.String(), n, len(line), err)
	}
}
