// Package etcd is one etcd cluster seen over the wire, and the arithmetic of its quorum. It is the only importer
// of etcd's client library.
package etcd

import (
	"crypto/tls"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Endpoint is one member's client URL and the name that its certificate must carry.
type Endpoint struct {
	// URL to dial, for example "https://10.1.2.3:2379".
	URL string
	// ServerName to verify; empty verifies the host of URL.
	ServerName string
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
	// maxReceive is for MemberList and Status; the snapshot stream comes in chunks of 32 KiB.
	maxReceive = 16 << 20
)

// Open prepares a connection to one member; it does not wait for it. TLS is nil for plain HTTP.
func Open(endpoint Endpoint, tlsConfig *tls.Config) (*Client, error) {
	if tlsConfig != nil && endpoint.ServerName != "" {
		tlsConfig = tlsConfig.Clone()
		tlsConfig.ServerName = endpoint.ServerName
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{endpoint.URL},
		TLS:                  tlsConfig,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		MaxCallRecvMsgSize:   maxReceive,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", endpoint.URL, err)
	}
	return &Client{endpoint: endpoint.URL, client: client}, nil
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
