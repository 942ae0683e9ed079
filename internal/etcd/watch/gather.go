package watch

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// A member sends each change at once, so 1,000 changes in a second would wake the archiver 1,000 times. On a busy node, the member would
// wait for a processor that often. So the kernel gathers bytes before it wakes the archiver.
const (
	// gatherTime is how long bytes may wait in the kernel.
	gatherTime = 20 * time.Millisecond
	// gatherBytes end the wait, so that a fast stream is not slowed. gRPC reads as many at once.
	gatherBytes = 32 << 10
)

// gatherer gathers what connections receive, below TLS. A dialer could do that, too, but then gRPC would ignore HTTPS_PROXY.
type gatherer struct {
	credentials.TransportCredentials
}

func (g gatherer) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return g.TransportCredentials.ClientHandshake(ctx, authority, gather(conn, gatherTime))
}

func (g gatherer) Clone() credentials.TransportCredentials {
	return gatherer{g.TransportCredentials.Clone()}
}

// gathering is a connection on which a read that finds no bytes waits for gatherBytes. After the time, one byte is enough. Only the
// kernel waits, so Close and a deadline end a read as always.
type gathering struct {
	net.Conn
	socket syscall.RawConn
	during time.Duration

	mu      sync.Mutex
	waiting bool // for gatherBytes
}

// gather returns conn itself if it is not a socket.
func gather(conn net.Conn, during time.Duration) net.Conn {
	if c, ok := conn.(syscall.Conn); ok {
		if socket, err := c.SyscallConn(); err == nil {
			return &gathering{Conn: conn, socket: socket, during: during}
		}
	}
	return conn
}

func (g *gathering) Read(p []byte) (int, error) {
	g.begin()
	return g.Conn.Read(p)
}

func (g *gathering) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.waiting && g.wakeAt(gatherBytes) {
		g.waiting = true
		time.AfterFunc(g.during, g.end)
	}
}

func (g *gathering) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = false
	g.wakeAt(1)
}

// wakeAt sets how many bytes wake a reader. It returns false if the system refuses that: then one byte does.
func (g *gathering) wakeAt(bytes int) bool {
	var refused error
	err := g.socket.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
	return err == nil && refused == nil
}
