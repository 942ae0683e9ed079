package watch

import (
	"context"
	"crypto/tls"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Options of a connection.
type Options struct {
	// Endpoints are the client URLs of members. The client uses another one if a member does not answer.
	Endpoints []string
	// TLS is nil for plain HTTP.
	TLS *tls.Config
	// User and Password are empty if authentication is off.
	User, Password string
	// Memory admits what a large change takes in memory, beside the half a MiB that each watch may hold. The change is released when it was
	// handled. Memory is nil if there is only one watch in the process.
	Memory func(ctx context.Context, bytes int64) (release func(), err error)
}

const (
	dialTimeout      = 3 * time.Second
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// requestTimeout is for linearizable requests, which a member without a quorum would not answer.
	requestTimeout = 10 * time.Second
	// window is how many bytes a member may send before they are read. Each of a hundred archives holds as many while it waits for its store.
	window = 128 << 10
	// shortWindow is window for answers that are no stream. Fixed windows bound the memory.
	shortWindow = 64 << 10
)

// largeTimeout is how long a member may need to send a change whose memory is missing for others.
const largeTimeout = 30 * time.Second

// Client is a connection to one cluster.
type Client struct {
	client  *clientv3.Client
	options Options
	turn    atomic.Uint32
}

func (c *Client) endpoints() string { return strings.Join(c.options.Endpoints, ", ") }
