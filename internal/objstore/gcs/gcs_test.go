package gcs

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestOpenRejectsInvalidConfigurations(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"credentials that run a program": {
			Config{CredentialsJSON: []byte(`{"type":"external_account","credential_source":{"executable":{"command":"VERYSECRET"}}}`)},
			`"external_account"`,
		},
		"credentials without a type":    {Config{CredentialsJSON: []byte(`{"private_key":"VERYSECRET"}`)}, `type ""`},
		"credentials that are not JSON": {Config{CredentialsJSON: []byte(`VERYSECRET`)}, "not valid JSON"},
		"a file and a token":            {Config{CredentialsJSON: []byte(`{}`), AccessToken: "VERYSECRET"}, "remove one of them"},
		"an endpoint without a scheme":  {Config{Endpoint: "fake-gcs:4443"}, "endpoint"},
		"an endpoint with a password":   {Config{Endpoint: "http://user:VERYSECRET@fake-gcs:4443"}, "endpoint"},
		"an endpoint that is not a URL": {Config{Endpoint: "http://[VERYSECRET"}, "endpoint"},
		"another server for tokens": {
			Config{CredentialsJSON: []byte(`{"type":"service_account","token_uri":"http://127.0.0.1:1/VERYSECRET"}`)}, "token_uri",
		},
		"another server for tokens by another spelling": {
			Config{CredentialsJSON: []byte(`{"type":"authorized_user","Token_URI":"https://oauth2.googleapis.com.example.com/VERYSECRET"}`)}, "token_uri",
		},
		"another cloud": {
			Config{CredentialsJSON: []byte(`{"type":"service_account","universe_domain":"VERYSECRET.example.com"}`)}, "universe_domain",
		},
		"a token for an endpoint that the Secret does not name": {
			Config{Endpoint: "https://gcs.example.com", AccessToken: "VERYSECRET"}, "https://gcs.example.com",
		},
		"a file for an endpoint that the Secret does not name": {
			Config{Endpoint: "https://gcs.example.com", CredentialsJSON: []byte(`{}`), CredentialsFor: "https://other.example.com"}, "the key endpoint",
		},
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

func TestEndpointGetsCredentialsOnlyOverTLS(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   bool
	}{
		"a Secret's that names it":                    {Config{Endpoint: "https://gcs.example.com", CredentialsFor: "https://gcs.example.com/\n", AccessToken: "t"}, true},
		"a Secret's file that names it":               {Config{Endpoint: "https://gcs.example.com", CredentialsFor: "https://gcs.example.com", CredentialsJSON: []byte("{}")}, true},
		"no Secret's that does not name it":           {Config{Endpoint: "https://gcs.example.com", AccessToken: "t"}, false},
		"a Secret's on Google's private host":         {Config{Endpoint: "https://storage-psc.p.googleapis.com", AccessToken: "t"}, true},
		"none over HTTP":                              {Config{Endpoint: "http://gcs.example.com", CredentialsFor: "http://gcs.example.com", AccessToken: "t"}, false},
		"not the operator's own":                      {Config{Endpoint: "https://gcs.example.com"}, false},
		"not the operator's own on a disguised host":  {Config{Endpoint: "https://storage.googleapis.com.example.com"}, false},
		"the operator's own on Google's private host": {Config{Endpoint: "https://storage-psc.p.googleapis.com"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.config.trusted(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	t.Run("and sends them", func(t *testing.T) {
		opts, api, _, err := Config{Endpoint: "https://gcs.example.com", CredentialsFor: "https://gcs.example.com", AccessToken: "t"}.options()
		anonymous, _, _, _ := Config{Endpoint: "http://gcs.example.com", AccessToken: "t"}.options()
		if err != nil || api != "https://gcs.example.com/storage/v1/" || len(opts) != 1 || fmt.Sprintf("%T", opts[0]) == fmt.Sprintf("%T", anonymous[0]) {
			t.Errorf("%T for %s, error %v", opts, api, err)
		}
	})
}

func TestErrorsAreClassifiedByTheServersAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		want   error
	}{
		"status 403 is ErrPermission": {http.StatusForbidden, fs.ErrPermission},
		"status 401 is ErrPermission": {http.StatusUnauthorized, fs.ErrPermission},
		"status 404 is ErrNotExist":   {http.StatusNotFound, fs.ErrNotExist},
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

// TestOptionsAreSentWithUploads puts one object in a single request and one in several chunks.
func TestOptionsAreSentWithUploads(t *testing.T) {
	for name, size := range map[string]int{"one request": 10, "several chunks": chunkSize + 1} {
		t.Run(name, func(t *testing.T) {
			var told []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Query().Has("ifGenerationMatch") {
					told = append(told, r.URL.Query().Get("kmsKeyName")+" "+string(body[:min(len(body), 1000)]))
					w.Header().Set("Location", "http://"+r.Host+"/upload/next")
				} else if !strings.HasSuffix(r.Header.Get("Content-Range"), "/"+fmt.Sprint(size)) {
					w.Header().Set("X-Http-Status-Code-Override", "308")
					w.Header().Set("Range", "bytes=0-"+fmt.Sprint(chunkSize-1))
					return
				}
				sum := crc32.Checksum(make([]byte, size), crc32.MakeTable(crc32.Castagnoli))
				_, _ = fmt.Fprintf(w, `{"name":"key","size":"%d","crc32c":%q}`, size, base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)))
			}))
			defer server.Close()
			store, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: server.URL, KMSKeyName: "projects/p/key", StorageClass: "NEARLINE"})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), "key", bytes.NewReader(make([]byte, size))); err != nil {
				t.Fatal(err)
			}
			if len(told) != 1 || !strings.HasPrefix(told[0], "projects/p/key ") || !strings.Contains(told[0], `"storageClass":"NEARLINE"`) {
				t.Errorf("told %q, want key and storage class", told)
			}
		})
	}
}

func TestPutDeletesAnObjectThatDiffersFromItsBody(t *testing.T) {
	removed := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			removed = r.URL.Query().Get("ifGenerationMatch")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"name":"key","size":"5","crc32c":"AAAAAA==","generation":"42"}`)
	}))
	defer server.Close()
	store, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Put(t.Context(), "key", strings.NewReader("bytes"))
	if err == nil || !strings.Contains(err.Error(), "but the body has") || removed != "42" {
		t.Errorf("error %v, removed generation %q, want 42 and no other", err, removed)
	}
}

func TestMetadataIsNeverPutIntoAnArchive(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent += string(body)
		sum := crc32.Checksum([]byte("{}"), crc32.MakeTable(crc32.Castagnoli))
		_, _ = fmt.Fprintf(w, `{"name":"key","size":"2","crc32c":%q}`, base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)))
		w.Header().Set("Location", "http://"+r.Host+"/upload/next")
	}))
	defer server.Close()
	store, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: server.URL, StorageClass: "ARCHIVE"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "key.json", objstore.NewMetadata([]byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if sent == "" || strings.Contains(sent, "ARCHIVE") {
		t.Errorf("sent %q", sent)
	}
}

// An answer without an end to the request for a token must not take the memory of the operator.
func TestATokenOfTenTimesTheBoundIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"token_type":"Bearer","access_token":"`)
		for range 10 {
			if _, err := io.WriteString(w, strings.Repeat("a", 1<<20)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	}))
	defer server.Close()
	defer func(known []string) { tokenURIs = known }(tokenURIs)
	tokenURIs = append(slices.Clone(tokenURIs), server.URL)
	credentials := bytes.ReplaceAll(serviceAccount(t), []byte(tokenURIs[1]), []byte(server.URL))
	store, err := Open(t.Context(), Config{Bucket: "b", CredentialsJSON: credentials})
	if err != nil {
		t.Fatal(err)
	}
	heaptest.Bound(t, 32, func() {
		for _, err := range store.List(t.Context(), "k") {
			if err == nil || strings.Contains(err.Error(), "aaaa") {
				t.Errorf("error %.200v", err)
			}
		}
	})
}
