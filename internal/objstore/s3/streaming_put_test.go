package s3

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const streamedSize = partSize + 12345

func streamedBody() (content []byte, body io.Reader) {
	content = bytes.Repeat([]byte("0123456789abcde"), streamedSize/15+1)[:streamedSize]
	return content, spooled{bytes.NewReader(content), bytes.NewReader(content), streamedSize}
}

// streamingServer is an S3 server that accepts parts. put decides what it stores of a body in one request.
type streamingServer struct {
	put      func(w http.ResponseWriter, r *http.Request, body []byte) (object []byte)
	hideSize bool // do not report the size of objects

	mu     sync.Mutex
	asked  []string
	header http.Header // of the first PUT
	sent   []byte      // by it
	object []byte
}

func (s *streamingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := takeParts(w, r)
	switch {
	case kind == "create" || kind == "complete" || kind == "abort":
	case kind == "part":
		s.object = append(s.object, body...)
	case kind == http.MethodPut:
		s.header, s.sent = r.Header.Clone(), body
		s.object = s.put(w, r, body)
	case kind == http.MethodDelete:
		s.object = nil
		w.WriteHeader(http.StatusNoContent)
	case s.object == nil:
		w.WriteHeader(http.StatusNotFound)
		if kind == http.MethodGet {
			_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		}
	case kind == http.MethodHead && s.hideSize:
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(s.object)))
		_, _ = w.Write(s.object)
	}
	s.asked = append(s.asked, kind)
}

// seen returns the requests and the stored object. It waits until the last handler has returned.
func (s *streamingServer) seen() (asked []string, object []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.object
}

func (s *streamingServer) open(t *testing.T, o Options) *Store {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return openStore(t, Config{Endpoint: server.URL, Options: o})
}

// openTLS opens a store on a TLS server that also supports HTTP/2.
func (s *streamingServer) openTLS(t *testing.T, o Options) *Store {
	t.Helper()
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return openStore(t, Config{Endpoint: server.URL, CABundle: bundle, Options: o})
}

func openStore(t *testing.T, c Config) *Store {
	t.Helper()
	c.Bucket, c.ForcePathStyle, c.AccessKeyID, c.SecretAccessKey = "bucket", true, "id", "secret"
	store, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A store rejects a wrong encoding, or stores the encoded bytes as the object.
func TestStreamingPutUsesTheAWSChunkedEncoding(t *testing.T) {
	for name, open := range map[string]func(*streamingServer, *testing.T, Options) *Store{"over HTTP": (*streamingServer).open, "over TLS": (*streamingServer).openTLS} {
		t.Run(name, func(t *testing.T) {
			content, body := streamedBody()
			server := &streamingServer{put: func(http.ResponseWriter, *http.Request, []byte) []byte { return content }}
			store := open(server, t, Options{Encryption: SSES3, StorageClass: "STANDARD_IA", LockMode: "GOVERNANCE", RetainFor: time.Hour, Tags: map[string]string{"team": "a"}})
			if err := store.Put(t.Context(), "key", body); err != nil {
				t.Fatal(err)
			}
			if asked, _ := server.seen(); !slices.Equal(asked, []string{"PUT", "HEAD"}) {
				t.Errorf("asked for %s", asked)
			}
			sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(content)))
			var want strings.Builder
			for chunk := range slices.Chunk(content, 1<<20) {
				fmt.Fprintf(&want, "%x\r\n%s\r\n", len(chunk), chunk)
			}
			fmt.Fprintf(&want, "0\r\nx-amz-checksum-crc32:%s\r\n\r\n", sum)
			if string(server.sent) != want.String() {
				t.Errorf("sent %d bytes that begin with %q and end with %q", len(server.sent), server.sent[:20], server.sent[len(server.sent)-50:])
			}
			for header, want := range map[string]string{
				"If-None-Match": "*", "Content-Encoding": "aws-chunked", "X-Amz-Decoded-Content-Length": fmt.Sprint(len(content)),
				"X-Amz-Trailer": "x-amz-checksum-crc32", "X-Amz-Content-Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
				"X-Amz-Server-Side-Encryption": "AES256", "X-Amz-Storage-Class": "STANDARD_IA", "X-Amz-Object-Lock-Mode": "GOVERNANCE", "X-Amz-Tagging": "team=a",
			} {
				if got := server.header.Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
		})
	}
}

// A store or a proxy may be unable to accept a snapshot in one request.
func TestPutFallsBackToPartsIfTheStreamingPutFails(t *testing.T) {
	refused := func(status int, code string) func(http.ResponseWriter, *http.Request, []byte) []byte {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) []byte {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
			return nil
		}
	}
	for name, test := range map[string]struct {
		put  func(http.ResponseWriter, *http.Request, []byte) []byte
		asks []string
	}{
		"a proxy rejects its size":                {refused(http.StatusRequestEntityTooLarge, "EntityTooLarge"), []string{"PUT", "GET", "create", "part", "part", "complete", "HEAD"}},
		"trailers are not implemented":            {refused(http.StatusNotImplemented, "NotImplemented"), []string{"PUT", "GET", "create", "part", "part", "complete", "HEAD"}},
		"the signature is not supported":          {refused(http.StatusForbidden, "SignatureDoesNotMatch"), []string{"PUT", "GET", "create", "part", "part", "complete", "HEAD"}},
		"the checksum differs":                    {refused(http.StatusBadRequest, "BadDigest"), []string{"PUT", "GET", "create", "part", "part", "complete", "HEAD"}},
		"the store keeps the encoding as content": {func(_ http.ResponseWriter, _ *http.Request, body []byte) []byte { return body }, []string{"PUT", "HEAD", "DELETE", "GET", "create", "part", "part", "complete", "HEAD"}},
		"the store keeps a truncated object":      {func(_ http.ResponseWriter, _ *http.Request, body []byte) []byte { return body[:partSize/2] }, []string{"PUT", "HEAD", "DELETE", "GET", "create", "part", "part", "complete", "HEAD"}},
	} {
		t.Run(name, func(t *testing.T) {
			content, body := streamedBody()
			server := &streamingServer{put: test.put}
			if err := server.open(t, Options{}).Put(t.Context(), "key", body); err != nil {
				t.Fatal(err)
			}
			asked, object := server.seen()
			if !slices.Equal(asked, test.asks) {
				t.Errorf("asked for %s, want %s", asked, test.asks)
			}
			if !inAnyOrder(object, content) {
				t.Errorf("holds %d bytes that differ, want the %d of the body", len(object), len(content))
			}
		})
	}
}

// inAnyOrder compares an object of two parts that may have arrived in any order.
func inAnyOrder(got, want []byte) bool {
	return bytes.Equal(got, want) || bytes.Equal(got, slices.Concat(want[partSize:], want[:partSize]))
}

// An existing object must not be replaced, and the store would reject parts too.
func TestPutDoesNotSendPartsIfTheKeyExists(t *testing.T) {
	_, body := streamedBody()
	server := &streamingServer{put: func(w http.ResponseWriter, _ *http.Request, _ []byte) []byte {
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = io.WriteString(w, "<Error><Code>PreconditionFailed</Code></Error>")
		return []byte("old")
	}}
	err := server.open(t, Options{}).Put(t.Context(), "key", body)
	asked, _ := server.seen()
	if err == nil || !strings.Contains(err.Error(), "PreconditionFailed") || !slices.Equal(asked, []string{"PUT"}) {
		t.Errorf("error %v, asked for %s", err, asked)
	}
}

// The object may be complete: its reader checks that.
func TestPutKeepsAnObjectOfUnknownSize(t *testing.T) {
	content, body := streamedBody()
	server := &streamingServer{hideSize: true, put: func(http.ResponseWriter, *http.Request, []byte) []byte { return content }}
	err := server.open(t, Options{}).Put(t.Context(), "key", body)
	asked, object := server.seen()
	if !errors.Is(err, fs.ErrExist) || slices.Contains(asked, "DELETE") || !bytes.Equal(object, content) {
		t.Errorf("error %v, asked for %s, and %d bytes are left, want fs.ErrExist and all", err, asked, len(object))
	}
}

// slowlyProven is a body whose end waits for its proof.
type slowlyProven struct {
	spooled
	proven <-chan struct{}
}

func (s slowlyProven) Read(p []byte) (int, error) {
	n, err := s.spooled.Read(p)
	if errors.Is(err, io.EOF) {
		<-s.proven
	}
	return n, err
}

// A store closes a connection that is silent for long. The snapshot is sent again in parts, while the proof goes on.
func TestPutSendsPartsDuringAProofThatTakesLong(t *testing.T) {
	content, body := streamedBody()
	proven := make(chan struct{})
	server := &streamingServer{put: func(http.ResponseWriter, *http.Request, []byte) []byte { return nil }}
	store := server.open(t, Options{})
	store.writing.proofPatience = 10 * time.Millisecond
	go func() {
		defer close(proven)
		for range time.Tick(time.Millisecond) {
			if asked, _ := server.seen(); slices.Contains(asked, "part") || t.Context().Err() != nil {
				return
			}
		}
	}()
	if err := store.Put(t.Context(), "key", slowlyProven{body.(spooled), proven}); err != nil {
		t.Fatal(err)
	}
	asked, object := server.seen()
	// The server notes the PUT when its body ends, and that may be after the next requests.
	asked = slices.DeleteFunc(asked, func(request string) bool { return request == "PUT" })
	if !slices.Equal(asked, []string{"GET", "create", "part", "part", "complete", "HEAD"}) || !inAnyOrder(object, content) {
		t.Errorf("asked for %s, and the object has %d bytes", asked, len(object))
	}
}
