// Package etcd is one etcd cluster seen over the wire, and the arithmetic of its quorum. It is the only importer
// of etcd's client library.
package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Endpoint is one member's client URL and, where it is known better than DNS knows it, its address.
type Endpoint struct {
	// URL of the member; with https its certificate must carry the URL's host.
	URL string
	// Address to dial in place of the URL's host, for example "10.1.2.3:2379"; empty asks DNS.
	Address string
}

// Client talks to one member.
type Client struct {
	endpoint string
	client   *clientv3.Client
}

const (
	dialTimeout      = 3 * time.Second
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// window is what a member may send ahead of its reader: 1 GB/s at a round trip of 2 ms.
	window = 2 << 20
	// maxReceive is for MemberList and Status; the snapshot stream comes in chunks of 32 KiB.
	maxReceive = 16 << 20
	// maxRetries of a call that did not reach the member; callers look again by themselves.
	maxRetries = 3
)

// Open prepares a connection to one member; it does not wait for it. TLS is nil for plain HTTP. More options are for
// those who watch the calls.
func Open(endpoint Endpoint, tlsConfig *tls.Config, more ...grpc.DialOption) (*Client, error) {
	options := append([]grpc.DialOption{
		grpc.WithChainUnaryInterceptor(failFast),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())),
		// Fixed windows: gRPC's own grow with the speed of the line up to 16 MiB, all of which a slow reader of a
		// snapshot would hold in memory.
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
	}, more...)
	if endpoint.Address != "" {
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", endpoint.Address)
		}))
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{endpoint.URL},
		TLS:                  tlsConfig,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		MaxCallRecvMsgSize:   maxReceive,
		MaxUnaryRetries:      maxRetries,
		DialOptions:          options,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", endpoint.URL, err)
	}
	return &Client{endpoint: endpoint.URL, client: client}, nil
}

// failFast has a call fail with the cause when no connection comes about. The library's default waits for one
// until the deadline, and "deadline exceeded" tells a refused connection from a wrong certificate for nobody.
func failFast(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, req, reply, conn, append(opts[:len(opts):len(opts)], grpc.WaitForReady(false))...)
}

// Close ends the connection. Its error says nothing that a caller could act on.
func (c *Client) Close() {
	_ = c.client.Close()
}

// wrap names the act and the member in an error.
func (c *Client) wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at %s: %w", act, c.endpoint, err)
}
