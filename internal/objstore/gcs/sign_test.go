package gcs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"testing"
	"time"
)

func serviceAccount(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "op@project.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSignedURLNamesOneObjectAndExpires(t *testing.T) {
	s, err := Open(t.Context(), Config{Bucket: "b", CredentialsJSON: serviceAccount(t)})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.SignGet(t.Context(), "a/b c.db", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	if u.Host != "storage.googleapis.com" || u.Path != "/b/a/b c.db" || u.Query().Get("X-Goog-Signature") == "" || u.Query().Get("X-Goog-SignedHeaders") != "host" {
		t.Errorf("URL %s", signed.URL)
	}
	if left := time.Until(signed.Expires); left < 59*time.Minute || left > time.Hour {
		t.Errorf("it expires in %s", left)
	}
}

func TestAnEndpointWithoutCredentialsIsNotSigned(t *testing.T) {
	s, err := Open(t.Context(), Config{Bucket: "b", Endpoint: "http://emulator:4443"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SignGet(t.Context(), "k", time.Hour); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
