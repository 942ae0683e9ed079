package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

func TestSignedURLReadsTheObjectWithItsHeadersOnly(t *testing.T) {
	for name, key := range map[string][]byte{"a plain object": nil, "an object with a customer key": bytes.Repeat([]byte("k"), 32)} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), Config{
				Bucket: "b", Region: "r", Endpoint: "http://store:1", ForcePathStyle: true,
				AccessKeyID: "id", SecretAccessKey: "hunter2", CustomerKey: key, KeysFor: "http://store:1",
			})
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
			if u.Host != "store:1" || u.Path != "/b/a/b c.db" || u.Query().Get("X-Amz-Expires") != "3600" || u.Query().Get("X-Amz-Signature") == "" {
				t.Errorf("URL %s", signed.URL)
			}
			if left := time.Until(signed.Expires); left < 59*time.Minute || left > time.Hour {
				t.Errorf("it expires in %s", left)
			}
			if got := signed.Header.Get("X-Amz-Server-Side-Encryption-Customer-Key"); (got != "") != (key != nil) {
				t.Errorf("customer key header %q", got)
			}
			if signed.Header.Get("Host") != "" {
				t.Error("the headers contain the host")
			}
		})
	}
}

func TestSignedURLExpiresWithTheSessionThatSignedIt(t *testing.T) {
	session := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ends := time.Now().Add(20 * time.Minute).UTC().Format(time.RFC3339)
		_, _ = io.WriteString(w, `{"AccessKeyId":"id","SecretAccessKey":"key","Token":"t","Expiration":"`+ends+`"}`)
	}))
	defer session.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", session.URL)
	s, err := Open(t.Context(), Config{Bucket: "b", Region: "r"})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.SignGet(t.Context(), "k", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(signed.Expires); left > 20*time.Minute {
		t.Errorf("it expires in %s, but the session ends in 20 minutes", left)
	}
}
