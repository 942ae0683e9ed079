package connect_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// A server at the endpoint of a store shows a certificate for itself, with names that hold control characters.
func TestNoErrorOfAStoreRepeatsTheNamesOfACertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"VERYSECRETname17.internal", "a\x1b]0;title\x07b\nc"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	defer server.Close()
	store, err := connect.Open(t.Context(), accessTo("S3", strings.Replace(server.URL, "127.0.0.1", "localhost", 1)))
	if err != nil {
		t.Fatal(err)
	}
	err = list(t.Context(), store)
	if err == nil || strings.Contains(err.Error(), "VERYSECRETname17") || strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("the status would say %q", err)
	}
}
