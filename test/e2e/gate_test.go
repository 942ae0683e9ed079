package e2e

import (
	"io"
	"net"
	"sync"
	"time"
)

// machineAddress is the address at which Pods of the local Kubernetes reach this machine.
const machineAddress = "198.18.255.253"

// gate is a proxy in front of a store. It passes a limited number of bytes of each connection and then blocks it.
type gate struct {
	url string

	mu          sync.Mutex
	changed     *sync.Cond
	limit       int64
	cuts        int
	connections map[net.Conn]bool // connections to the store
}

// open is a limit that never blocks a connection.
const open = int64(1) << 62

// gated starts an open gate in front of an address. It stops when the test ends.
func (n *namespaced) gated(target string) *gate {
	n.Helper()
	listener, err := (&net.ListenConfig{}).Listen(n.Context(), "tcp", machineAddress+":0")
	if err != nil {
		n.Fatal(err)
	}
	g := &gate{url: "http://" + listener.Addr().String(), limit: open, connections: map[net.Conn]bool{}}
	g.changed = sync.NewCond(&g.mu)
	n.Cleanup(func() { g.allow(open); _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go g.proxy(from, target)
		}
	}()
	return g
}

// allow sets how many bytes of each connection pass from the store.
func (g *gate) allow(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = bytes
	g.changed.Broadcast()
}

// cut closes every connection and drops the blocked bytes. It also closes connections to a store that was killed, which
// would otherwise stay open.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cuts++
	for to := range g.connections {
		_ = to.Close()
	}
	g.changed.Broadcast()
}

// proxy passes one connection on to the store until either side closes it.
func (g *gate) proxy(from net.Conn, target string) {
	defer from.Close()
	to, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp", target)
	if err != nil {
		return
	}
	defer g.unregister(to)
	go func() { defer to.Close(); _, _ = io.Copy(to, from) }()
	_, _ = io.Copy(g.register(from, to), to)
}

// register stores a connection until unregister, so that cut can close it.
func (g *gate) register(from, to net.Conn) *gatedWriter {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connections[to] = true
	return &gatedWriter{gate: g, to: from, cuts: g.cuts}
}

func (g *gate) unregister(to net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.connections, to)
	_ = to.Close()
}

// gatedWriter passes bytes from the store to the client within the limit.
type gatedWriter struct {
	gate  *gate
	to    io.Writer
	cuts  int
	bytes int64
}

func (t *gatedWriter) Write(p []byte) (done int, err error) {
	for done < len(p) && err == nil {
		n := t.allowance(len(p) - done)
		if n == 0 {
			return done, net.ErrClosed
		}
		n, err = t.to.Write(p[done : done+n])
		done, t.bytes = done+n, t.bytes+int64(n)
	}
	return done, err
}

// allowance waits until bytes may pass, and returns how many of them. It returns 0 if the connection was cut.
func (t *gatedWriter) allowance(bytes int) int {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	for t.bytes >= t.gate.limit && t.cuts == t.gate.cuts {
		t.gate.changed.Wait()
	}
	if t.cuts != t.gate.cuts {
		return 0
	}
	return int(min(int64(bytes), t.gate.limit-t.bytes))
}
