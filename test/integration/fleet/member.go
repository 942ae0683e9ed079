package fleet

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// member is one faked etcd process.
type member struct {
	name, address string
	group         *group
	version       string
	// silent: it accepts connections and never answers.
	silent   atomic.Bool
	listener net.Listener
	// probes is the listener for health checks.
	probes net.Listener
}

// group is one etcd cluster.
type group struct {
	namespace, cluster string
	id                 uint64

	mu      sync.Mutex
	entries map[string]*entry
	running map[string]*member
	looked  time.Time
	looks   int
	checks  int
	dials   int
}

// entry is one member in the membership of a group.
type entry struct {
	id               uint64
	learner, started bool
}

// dialled counts a connection.
func (g *group) dialled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dials++
}

// asked counts a request for a status.
func (g *group) asked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = time.Now()
	g.looks++
}

// checked counts a request for the health.
func (g *group) checked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = time.Now()
	g.checks++
}

// leader is the first voter by name that runs and answers, or "" without a quorum.
func (g *group) leader() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	voters, healthy, first := 0, 0, ""
	for name, e := range g.entries {
		if e.learner {
			continue
		}
		voters++
		m := g.running[name]
		if m == nil || m.silent.Load() {
			continue
		}
		healthy++
		if first == "" || name < first {
			first = name
		}
	}
	if healthy < voters/2+1 {
		return ""
	}
	return first
}

// listener hands connections to the server, and keeps those of a silent member.
type listener struct {
	net.Listener
	member *member
	mu     sync.Mutex
	kept   []net.Conn
}

// Accept returns the next connection that is answered.
func (l *listener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.member.group.dialled()
		if !l.member.silent.Load() {
			return connection, nil
		}
		l.mu.Lock()
		l.kept = append(l.kept, connection)
		l.mu.Unlock()
	}
}

// Close ends the listener and the connections that it kept.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Listener.Close()
	for _, connection := range l.kept {
		err = errors.Join(err, connection.Close())
	}
	l.kept = nil
	return err
}
