package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// A server that a user names shows a certificate for itself, with names that hold control characters, or that only an internal server has.
func TestNoErrorRepeatsTheNamesOfACertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const marker = "VERYSECRETname17"
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{marker + ".internal", "a\x1b]0;title\x07b\nc"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"}}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	config, err := TLSConfig(cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), cert)
	if err != nil {
		t.Fatal(err)
	}
	client, err := OpenBriefly(Endpoint{URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Status(t.Context())
	if err == nil || strings.Contains(err.Error(), marker) {
		t.Fatalf("error %v", err)
	}
	if text := Cause(err); text != "the TLS handshake failed: the certificate of the server is not valid for localhost, to which the operator connects" {
		t.Errorf("the status says %q", text)
	}
}

// A member of a user says what version it is, and how others are called.
func TestTheTextsOfAMemberAreShortAndHideNothing(t *testing.T) {
	hostile := "3.6\x1b[2K\u202e" + strings.Repeat("x", 30<<10)
	wrong := func(text string, limit int) bool {
		return len(text) > limit+20 || strings.ContainsFunc(text, legible.Hides)
	}
	open := func(answer proto.Message) *Client {
		body, err := proto.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		url, _ := answeringWith(t, body)
		client, err := OpenBriefly(Endpoint{URL: url}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	s, err := open(&pb.StatusResponse{Version: hostile, Errors: []string{hostile}}).Status(t.Context())
	if err != nil || wrong(s.Version, maxVersion) || wrong(s.Errors[0], maxText) {
		t.Errorf("%d bytes of a version: %.100q, %v", len(s.Version), s.Version, err)
	}
	s, err = open(&pb.StatusResponse{StorageVersion: hostile, DowngradeInfo: &pb.DowngradeInfo{Enabled: true, TargetVersion: hostile}}).Status(t.Context())
	if err != nil || wrong(s.StorageVersion, maxVersion) || wrong(s.Downgrade, maxVersion) {
		t.Errorf("%.100q, %.100q, %v", s.StorageVersion, s.Downgrade, err)
	}
	members, err := open(&pb.MemberListResponse{Members: []*pb.Member{{Name: hostile, PeerURLs: []string{hostile}}, {ClientURLs: []string{"https://m0:2379"}}}}).MembersKnown(t.Context())
	if err != nil || wrong(members[0].Name, maxText) || wrong(members[0].PeerURLs[0], maxText) || members[1].ClientURLs[0] != "https://m0:2379" {
		t.Errorf("%.200q, %.200q, %v", members[0].Name, members[0].PeerURLs, err)
	}
}

// A user may have a key named health. A value of more than the bound would be a member that does not serve.
func TestAKeyWithALargeValueIsNotRead(t *testing.T) {
	var counted bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := &pb.RangeRequest{}
		if err != nil || proto.Unmarshal(body[5:], request) != nil {
			t.Errorf("request %q, %v", body, err)
		}
		counted = request.CountOnly
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(make([]byte, 5))
		w.Header().Set("Grpc-Status", "0")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	client, err := OpenBriefly(Endpoint{URL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Serving(t.Context()); err != nil || !counted {
		t.Errorf("the value is requested: %t, %v", !counted, err)
	}
}
