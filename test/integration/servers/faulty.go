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

// Fault is what a Faulty does with a request. Its text completes the sentence "the request ...".
type Fault string

// The faults. Each is temporary: a retry of the request succeeds.
const (
	Served        Fault = "is served"
	ServerError   Fault = "gets the response 500"
	Unavailable   Fault = "gets the response 503"
	TooMany       Fault = "gets the response 429"
	Denied        Fault = "gets the response 403"
	ResetAtOnce   Fault = "is reset before its body is read"
	ResetInBody   Fault = "is reset after half of its body is read"
	CutAnswer     Fault = "gets half of the response, and then the connection is closed"
	LostAnswer    Fault = "has its effect, but its response is lost"
	Silence       Fault = "gets no response"
	SilentInBody  Fault = "gets no response after half of its body is read"
	SilentAnswers Fault = "gets half of the response, and then nothing"
)

// Passing are the faults that a store must hide from its caller.
var Passing = []Fault{ServerError, Unavailable, TooMany, ResetAtOnce, ResetInBody, CutAnswer, LostAnswer, Silence, SilentInBody, SilentAnswers}

// Faulty is a proxy in front of an HTTP server that breaks some requests.
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

// NewFaulty starts a proxy in front of the server with the URL target. It calls choose for each request, possibly
// concurrently. Requests are numbered from 1.
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

// Count returns how often the proxy applied a fault.
func (f *Faulty) Count(fault Fault) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[fault]
}

// ServeHTTP applies the chosen fault to a request.
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

// answer sends a response with a status and a body that no client can parse.
func (f *Faulty) answer(w http.ResponseWriter, r *http.Request, status int) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html>%d by the proxy</html>", status)
}

// half reads half of a request's body.
func half(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, max(0, r.ContentLength/2)) }

// reset resets the connection without a response.
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

// forward sends the request to the server, with the host name that the client signed. It passes on the response, or the
// part of it that fault allows.
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
			// The URL of a resumable upload must lead to the proxy, too.
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

// cut passes on the first half of a response, or nothing if it has no body.
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
