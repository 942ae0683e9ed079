package servers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Fault is what a Faulty does to a request.
type Fault string

// The faults. Each passes: the same request is served when it is sent again.
const (
	Served        Fault = "is served"
	ServerError   Fault = "is answered 500"
	Unavailable   Fault = "is answered 503"
	TooMany       Fault = "is answered 429"
	Denied        Fault = "is answered 403"
	ResetAtOnce   Fault = "is reset at once"
	ResetInBody   Fault = "is reset in the middle of its body"
	CutAnswer     Fault = "is answered by half"
	LostAnswer    Fault = "is done, and its answer is lost"
	Silence       Fault = "is never answered"
	SilentInBody  Fault = "is read by half, and then never answered"
	SilentAnswers Fault = "is answered by half, and then no more"
)

// Passing are the faults of which a store should show nothing.
var Passing = []Fault{ServerError, Unavailable, TooMany, ResetAtOnce, ResetInBody, CutAnswer, LostAnswer, Silence, SilentInBody, SilentAnswers}

// Faulty is a proxy before an HTTP server that breaks some requests.
type Faulty struct {
	URL    string // http://127.0.0.1:port
	target string
	choose func(n int, r *http.Request) Fault
	client *http.Transport
	ended  chan struct{}

	mu       sync.Mutex
	requests int
	done     map[Fault]int
}

// NewFaulty starts a proxy before the server at target, a URL. choose is asked for each request, which are numbered
// from 1, and may be called by several goroutines at once.
func NewFaulty(t testing.TB, target string, choose func(n int, r *http.Request) Fault) *Faulty {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	f := &Faulty{
		target: u.Host, choose: choose, client: &http.Transport{DisableCompression: true},
		ended: make(chan struct{}), done: map[Fault]int{},
	}
	server := httptest.NewServer(f)
	f.URL = server.URL
	t.Cleanup(func() {
		close(f.ended)
		server.CloseClientConnections()
		server.Close()
		f.client.CloseIdleConnections()
	})
	return f
}

// Count is how often a fault was done.
func (f *Faulty) Count(fault Fault) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[fault]
}

// ServeHTTP passes a request on, or not.
func (f *Faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	n := f.requests
	f.mu.Unlock()
	fault := f.choose(n, r)
	f.mu.Lock()
	f.done[fault]++
	f.mu.Unlock()
	switch fault {
	case ServerError:
		f.answer(w, r, http.StatusInternalServerError)
	case Unavailable:
		f.answer(w, r, http.StatusServiceUnavailable)
	case TooMany:
		f.answer(w, r, http.StatusTooManyRequests)
	case Denied:
		f.answer(w, r, http.StatusForbidden)
	case ResetAtOnce:
		reset(w)
	case ResetInBody:
		half(r)
		reset(w)
	case Silence:
		<-f.ended
	case SilentInBody:
		half(r)
		<-f.ended
	default:
		f.forward(w, r, fault)
	}
}

// answer with a status, and a body that means nothing to any client.
func (f *Faulty) answer(w http.ResponseWriter, r *http.Request, status int) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html>%d by the proxy</html>", status)
}

// half reads half of a body.
func half(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, max(0, r.ContentLength/2)) }

// reset ends the connection without a word.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// forward asks the server, under the host that the client signed, and passes on its answer or what of it fault lets pass.
func (f *Faulty) forward(w http.ResponseWriter, r *http.Request, fault Fault) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", f.target, ""
	response, err := f.client.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	if fault == LostAnswer {
		_, _ = io.Copy(io.Discard, response.Body)
		reset(w)
		return
	}
	for name, values := range response.Header {
		for _, value := range values {
			// A resumable upload goes on where the server says.
			w.Header().Add(name, strings.ReplaceAll(value, f.target, strings.TrimPrefix(f.URL, "http://")))
		}
	}
	if fault == Served {
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
		return
	}
	f.cut(w, response, fault)
}

// cut passes on the first half of an answer; of one without a body nothing.
func (f *Faulty) cut(w http.ResponseWriter, response *http.Response, fault Fault) {
	body, _ := io.ReadAll(response.Body)
	if len(body) > 0 {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
	}
	if fault == SilentAnswers {
		<-f.ended
	}
	panic(http.ErrAbortHandler)
}
