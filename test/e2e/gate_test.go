package e2e

import (
	"io"
	"net"
	"sync"
	"time"
)

// hostAddress is where Pods of the local Kubernetes reach this machine.
const hostAddress = "198.18.255.253"

// gate stands before a store: it lets so many bytes of each connection through, and then holds the rest back.
type gate struct {
	url string

	mu      sync.Mutex
	changed *sync.Cond
	limit   int64
	cuts    int
	joined  map[net.Conn]bool // with the store
}

// open is a limit that holds nothing back.
const open = int64(1) << 62

// gated makes a gate before an address, open, that is gone with the test.
func (n *namespaced) gated(target string) *gate {
	n.Helper()
	listener, err := (&net.ListenConfig{}).Listen(n.Context(), "tcp", hostAddress+":0")
	if err != nil {
		n.Fatal(err)
	}
	g := &gate{url: "http://" + listener.Addr().String(), limit: open, joined: map[net.Conn]bool{}}
	g.changed = sync.NewCond(&g.mu)
	n.Cleanup(func() { g.allow(open); _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go g.join(from, target)
		}
	}()
	return g
}

// allow so many bytes of each connection from the store.
func (g *gate) allow(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = bytes
	g.changed.Broadcast()
}

// cut ends every connection, with all that is held back, and those to a store that went without a word.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cuts++
	for to := range g.joined {
		_ = to.Close()
	}
	g.changed.Broadcast()
}

// join one connection with the store, until either side has enough.
func (g *gate) join(from net.Conn, target string) {
	defer from.Close()
	to, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp", target)
	if err != nil {
		return
	}
	defer g.leave(to)
	go func() { defer to.Close(); _, _ = io.Copy(to, from) }()
	_, _ = io.Copy(g.enter(from, to), to)
}

// enter remembers a connection until it leaves.
func (g *gate) enter(from, to net.Conn) *through {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joined[to] = true
	return &through{gate: g, to: from, cuts: g.cuts}
}

func (g *gate) leave(to net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.joined, to)
	_ = to.Close()
}

// through is the way back.
type through struct {
	gate  *gate
	to    io.Writer
	cuts  int
	bytes int64
}

func (t *through) Write(p []byte) (done int, err error) {
	for done < len(p) && err == nil {
		n := t.share(len(p) - done)
		if n == 0 {
			return done, net.ErrClosed
		}
		n, err = t.to.Write(p[done : done+n])
		done, t.bytes = done+n, t.bytes+int64(n)
	}
	return done, err
}

// share is how many of so many bytes may pass now, none where the connection was cut.
func (t *through) share(bytes int) int {
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
