package clock

import (
	"net/http"
	"sync"
	"time"
)

// Server reads the clock of the API server from the header Date of its answers, which costs no request. A nil Server knows nothing, and the
// zero value is ready for use.
type Server struct {
	mutex sync.Mutex
	// date is what the newest answer said, and at when it arrived.
	date, at time.Time
}

// Wrap returns a transport that reads the answers of next.
func (s *Server) Wrap(next http.RoundTripper) http.RoundTripper {
	return &reading{next: next, server: s}
}

// Ahead returns how far the clock of the API server is ahead of the one that now was read from, and whether that is known. It also holds if
// the clock of this process was set since the answer.
func (s *Server) Ahead(now time.Time) (ahead time.Duration, known bool) {
	if s == nil {
		return 0, false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.at.IsZero() {
		return 0, false
	}
	passed := now.Sub(s.at) // by the monotonic clock
	return s.date.Add(passed).Sub(now.Round(0)), true
}

// Now returns the time of this process. If its clock differs from that of the API server, it returns the time of the API server: a wrong
// clock of a node is more likely, and Kubernetes itself depends on that of the API server.
func (s *Server) Now() time.Time {
	now := time.Now()
	if ahead, known := s.Ahead(now); known && Differ(ahead) {
		return now.Round(0).Add(ahead)
	}
	return now
}

// Differs reports whether the clock of this process is known to differ from that of the API server.
func (s *Server) Differs() bool {
	ahead, known := s.Ahead(time.Now())
	return known && Differ(ahead)
}

func (s *Server) saw(answer *http.Response, at time.Time) {
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.date, s.at = date, at
}

// reading is a transport that shows each answer to a Server.
type reading struct {
	next   http.RoundTripper
	server *Server
}

func (r *reading) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	if err == nil {
		r.server.saw(answer, time.Now())
	}
	return answer, err
}

// WrappedRoundTripper lets client-go close idle connections.
func (r *reading) WrappedRoundTripper() http.RoundTripper { return r.next }
