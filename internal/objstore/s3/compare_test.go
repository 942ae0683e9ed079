package s3

import (
	"bytes"
	"crypto/md5" // S3 requires it as a checksum
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// checkingServer is an older S3 server: it compares Content-MD5, and refuses the newer checksums.
type checkingServer struct {
	t      *testing.T
	damage int                 // that many bodies arrive damaged
	etag   func(string) string // changes the ETag of the whole object; may be nil
	keep   int                 // the object has that many bytes less

	mu    sync.Mutex
	asked []string
	parts map[string][]byte
}

func (s *checkingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	for header := range r.Header {
		if strings.HasPrefix(header, "X-Amz-Checksum") || strings.HasPrefix(header, "X-Amz-Sdk-Checksum") || header == "X-Amz-Trailer" {
			s.t.Errorf("%s has the header %s", r.Method, header)
		}
	}
	query := r.URL.Query()
	if r.Method == http.MethodPut {
		if s.damage > 0 {
			s.damage--
			body[0] ^= 1
		}
		sum := md5.Sum(body) // see above
		if got := r.Header.Get("Content-Md5"); got != base64.StdEncoding.EncodeToString(sum[:]) {
			s.asked = append(s.asked, "refused")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<Error><Code>BadDigest</Code></Error>")
			return
		}
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		s.parts[query.Get("partNumber")] = body
		s.asked = append(s.asked, "PUT")
		return
	}
	if query.Has("uploadId") && r.Method == http.MethodPost {
		etag := s.whole()
		if s.etag != nil {
			etag = s.etag(etag)
		}
		_, _ = fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>&quot;%s&quot;</ETag></CompleteMultipartUploadResult>", etag)
		s.asked = append(s.asked, "complete")
		return
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.parts["1"])+len(s.parts["2"])-s.keep))
	} else {
		takeParts(w, r)
	}
	s.asked = append(s.asked, r.Method)
}

func (s *checkingServer) whole() string {
	all := md5.New() // see above
	for _, number := range []string{"1", "2"} {
		sum := md5.Sum(s.parts[number]) // see above
		all.Write(sum[:])
	}
	return hex.EncodeToString(all.Sum(nil)) + "-2"
}

func (s *checkingServer) open(t *testing.T) *Store {
	t.Helper()
	s.t, s.parts = t, map[string][]byte{}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return openStore(t, Config{Endpoint: server.URL, CABundle: bundle})
}

func TestStoreOverTLSComparesEveryBody(t *testing.T) {
	content, _ := streamedBody()
	for name, body := range map[string]io.Reader{
		"of a snapshot in parts": bytes.NewReader(content),
		"of a manifest":          objstore.NewMetadata([]byte("{}")),
	} {
		t.Run(name, func(t *testing.T) {
			server := &checkingServer{damage: 1}
			if err := server.open(t).Put(t.Context(), "key", body); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(server.asked, " "); !strings.Contains(got, "refused") || !strings.Contains(got, "PUT") {
				t.Errorf("asked for %s: a damaged body was not sent again", got)
			}
		})
	}
}

func TestCompletedObjectIsComparedWithWhatWasSent(t *testing.T) {
	content, _ := streamedBody()
	for name, test := range map[string]struct {
		server *checkingServer
		fails  bool
	}{
		"the store has all parts":                     {&checkingServer{}, false},
		"the store has assembled other parts":         {&checkingServer{etag: func(e string) string { return strings.Repeat("0", 32) + e[32:] }}, true},
		"the store has lost the end":                  {&checkingServer{keep: 1}, true},
		"the store has ETags of its own for objects":  {&checkingServer{etag: func(string) string { return "CO/abc" }}, false},
		"the store's ETags do not count parts either": {&checkingServer{etag: func(e string) string { return e[:32] }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := test.server
			err := server.open(t).Put(t.Context(), "key", bytes.NewReader(content))
			deleted := strings.HasSuffix(strings.Join(server.asked, " "), "DELETE")
			if (err != nil) != test.fails || deleted != test.fails {
				t.Errorf("error %v, asked for %v", err, server.asked)
			}
		})
	}
}

// slowProof is a body whose end takes long, as the proof of a large snapshot does.
type slowProof struct {
	spooled
	atEnd func()
}

func (s slowProof) Read(p []byte) (int, error) {
	n, err := s.spooled.Read(p)
	if err != nil {
		s.atEnd()
	}
	return n, err
}

// A store closes a request that is silent for too long.
func TestNoRequestIsOpenDuringTheProofOfALargeSnapshot(t *testing.T) {
	content, body := streamedBody()
	server := &streamingServer{}
	var mu sync.Mutex
	open := 0
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		open++
		mu.Unlock()
		server.ServeHTTP(w, r)
		mu.Lock()
		open--
		mu.Unlock()
	})
	listening := httptest.NewServer(counting)
	defer listening.Close()
	store := openStore(t, Config{Endpoint: listening.URL})
	store.writing.streamed = partSize // as 1 GiB for a real snapshot
	idle := false
	slow := slowProof{body.(spooled), func() {
		for range 200 {
			<-time.After(10 * time.Millisecond)
			asked, _ := server.seen()
			mu.Lock()
			idle = open == 0 && len(asked) > 0
			mu.Unlock()
			if idle {
				return
			}
		}
	}}
	if err := store.Put(t.Context(), "key", slow); err != nil {
		t.Fatal(err)
	}
	asked, object := server.seen()
	if !idle || asked[0] != "create" || !inAnyOrder(object, content) {
		t.Errorf("no request was open during the proof: %v; asked for %s", idle, asked)
	}
}
