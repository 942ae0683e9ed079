// Package etcd is the client of one etcd cluster, and the arithmetic of its quorum. It is the only importer of etcd's
// client library.
package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Endpoint is the client URL of a member and optionally its address.
type Endpoint struct {
	// URL of the member. With https, the member's certificate must be valid for the URL's host.
	URL string
	// Address to dial instead of the URL's host, for example "10.1.2.3:2379". If empty, DNS resolves the host.
	Address string
	// Login is the user to authenticate as if etcd's authentication is on; nil for none. A client certificate needs none.
	Login *Login
}

// OwnURL returns the client URL of a member of an EtcdCluster without the DNS domain of the Kubernetes, and whether its host is below the Service of that cluster. A status
// that somebody else has written may name the members of another namespace, and a tenant may write any DNS domain into spec.pod.ClusterDomain, whose server answers with
// addresses of other namespaces. The resolver of the operator adds the domain of this Kubernetes.
func OwnURL(text, namespace, cluster string) (clientURL string, own bool) {
	found, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	of := "." + cluster + "." + namespace + ".svc"
	host, domain, is := strings.Cut(found.Hostname(), of)
	if !is || host == "" || strings.Contains(host, ".") || domain != "" && domain[0] != '.' {
		return "", false
	}
	return found.Scheme + "://" + host + of + ":" + found.Port(), true
}

// Client sends requests to one member. As in etcd's own client, the requests about one concern are methods of a type of their own.
type Client struct {
	*connection
	KV
	Membership
	Maintenance
	Auth
}

// KV are the requests about keys. A quorum confirms each of them.
type KV struct{ *connection }

// Membership are the requests about the members of the cluster.
type Membership struct{ *connection }

// Maintenance are the requests about the member itself, its database, and what is on or in progress in the cluster.
type Maintenance struct{ *connection }

// Auth are the requests about users, roles and authentication.
type Auth struct{ *connection }

// connection is what all requests to one member share.
type connection struct {
	endpoint string
	client   *clientv3.Client
	login    *Login
}

const (
	dialTimeout      = 3 * time.Second
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// window is how many bytes a member may send before the reader confirms them: 1 GB/s at a round trip of 2 ms.
	window = 2 << 20
	// briefBuffer is the size of a buffer for a few small answers. gRPC's own are 32 KiB in each direction.
	briefBuffer = 4 << 10
	// maxRetries limits retries of a call that did not reach the member; callers retry on their next pass.
	maxRetries = 3
)

// Open prepares a connection to one member and does not wait for it. tlsConfig is nil for plain HTTP. Callers that
// observe the calls pass more options.
func Open(endpoint Endpoint, tlsConfig *tls.Config, more ...grpc.DialOption) (*Client, error) {
	options := []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(failFast),
		grpc.WithTransportCredentials(Credentials(endpoint.URL, tlsConfig)), // replaces those of etcd's client
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())),
		// Fixed windows: by default, gRPC increases them up to 16 MiB on a fast network, and a slow reader of a
		// snapshot would hold all of that in memory.
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
	}
	if endpoint.Login != nil {
		options = append(options, grpc.WithChainUnaryInterceptor(endpoint.Login.intercept))
	}
	if endpoint.Address != "" {
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", endpoint.Address)
		}))
	}
	options = slices.Concat(options, ShortAnswers(), more, OnlyKnownWords())
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{endpoint.URL},
		TLS:                  tlsConfig,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		MaxUnaryRetries:      maxRetries,
		MaxCallSendMsgSize:   MaxPage, // a value that the cluster has accepted before
		DialOptions:          options,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", endpoint.URL, err)
	}
	shared := &connection{endpoint: endpoint.URL, client: client, login: endpoint.Login}
	return &Client{shared, KV{shared}, Membership{shared}, Maintenance{shared}, Auth{shared}}, nil
}

// OpenBriefly is Open for a few small requests.
func OpenBriefly(endpoint Endpoint, tlsConfig *tls.Config) (*Client, error) {
	return Open(endpoint, tlsConfig, grpc.WithReadBufferSize(briefBuffer), grpc.WithWriteBufferSize(briefBuffer))
}

// failFast makes a call fail with the cause if the connection fails. By default the library waits for a connection until
// the deadline, and "deadline exceeded" does not distinguish a refused connection from a wrong certificate.
func failFast(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, req, reply, conn, append(opts[:len(opts):len(opts)], grpc.WaitForReady(false))...)
}

// maintenance sends requests over the connection that the client has. clientv3's own Maintenance dials a second one for each
// Status, HashKV and Defragment.
func (c *connection) maintenance() pb.MaintenanceClient {
	return pb.NewMaintenanceClient(c.client.ActiveConnection())
}

// Close closes the connection. It returns no error, because a caller could not act on it.
func (c *connection) Close() {
	_ = c.client.Close()
}

// wrap adds the operation and the member's endpoint to an error.
func (c *connection) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at %s: %w", operation, c.endpoint, err)
}

// Login gets a token from the member within ctx, if the Endpoint has a user. All clients with the same Login use it.
func (c Auth) Login(ctx context.Context) error {
	if c.login == nil {
		return nil
	}
	_, err := c.login.authenticate(ctx, c.client.ActiveConnection(), c.login.current())
	return c.wrap("authenticate", err)
}
