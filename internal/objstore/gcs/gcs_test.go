package gcs

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOpenRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"credentials that run a program": {
			Config{CredentialsJSON: []byte(`{"type":"external_account","credential_source":{"executable":{"command":"VERYSECRET"}}}`)},
			`"external_account"`,
		},
		"credentials without a type":      {Config{CredentialsJSON: []byte(`{"private_key":"VERYSECRET"}`)}, `type ""`},
		"credentials that are no JSON":    {Config{CredentialsJSON: []byte(`VERYSECRET`)}, "no JSON"},
		"a file and a token":              {Config{CredentialsJSON: []byte(`{}`), AccessToken: "VERYSECRET"}, "give one"},
		"an endpoint without a scheme":    {Config{Endpoint: "fake-gcs:4443"}, "endpoint"},
		"an endpoint with a password":     {Config{Endpoint: "http://user:VERYSECRET@fake-gcs:4443"}, "endpoint"},
		"an endpoint that is not a URL":   {Config{Endpoint: "http://[VERYSECRET"}, "endpoint"},
		"a service account without a key": {Config{CredentialsJSON: []byte(`{"type":"service_account","client_email":"VERYSECRET"}`)}, "bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Bucket = "bucket"
			_, err := Open(t.Context(), test.config)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %s", err, test.want)
			}
			if strings.Contains(err.Error(), "VERYSECRET") {
				t.Errorf("error shows the secret: %v", err)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		want   error
	}{
		"forbidden is permission":    {http.StatusForbidden, fs.ErrPermission},
		"unauthorized is permission": {http.StatusUnauthorized, fs.ErrPermission},
		"not found is not exist":     {http.StatusNotFound, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/storage/v1/b/bucket/o" {
					_, _ = io.WriteString(w, `{}`) // a list: the bucket is there
					return
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, `{"error":{"code":403,"message":"because"}}`)
			}))
			defer server.Close()
			store, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Get(t.Context(), "key")
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			for _, text := range []string{"key", "bucket", server.URL} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not name %q", err, text)
				}
			}
		})
	}
}
