// Package watch reads every event of an etcd cluster in order, with constant memory. It implements archiver.Cluster.
//
// It does not use the watcher of etcd's client, which collects the fragments of a response and buffers responses without a
// limit while its reader is slow. Here a slow reader slows down the member, which then reads older events from its disk.
package watch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Options of a connection.
type Options struct {
	// Endpoints are the client URLs of members. The client uses another one if a member does not answer.
	Endpoints []string
	// TLS is nil for plain HTTP.
	TLS *tls.Config
	// User and Password are empty if authentication is off.
	User, Password string
}

const (
	dialTimeout      = 3 * time.Second
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// requestTimeout is for linearizable requests, which a member without a quorum would not answer.
	requestTimeout = 10 * time.Second
	// window is how many bytes a member may send before they are read. Fixed windows bound the memory.
	window = 1 << 20
	// maxMessage bounds what one message needs in memory. A message is as large as the largest request that etcd accepts
	// (--max-request-bytes), of which etcd advises no more than 10 MiB. gRPC refuses more than 4 MiB by default.
	maxMessage = 64 << 20
)

// Client is a connection to one cluster.
type Client struct{ client *clientv3.Client }

// Open prepares the connection. With a user it waits until a member has checked the password.
func Open(ctx context.Context, o Options) (*Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: o.Endpoints, TLS: o.TLS, Username: o.User, Password: o.Password,
		DialTimeout: dialTimeout, DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout,
		DialOptions: slices.Concat([]grpc.DialOption{
			grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
			grpc.WithTransportCredentials(gatherer{o.credentials()}), // replaces those of etcd's client, which are the same
		}, etcd.ShortAnswers(), etcd.OnlyKnownWords()),
		Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", o.Endpoints, err)
	}
	return &Client{client}, nil
}

// credentials are those for the first endpoint, as in etcd's client.
func (o Options) credentials() credentials.TransportCredentials {
	if len(o.Endpoints) == 0 {
		return insecure.NewCredentials()
	}
	return etcd.Credentials(o.Endpoints[0], o.TLS)
}

// Close closes the connection. It returns no error, because a caller could not act on it.
func (c *Client) Close() { _ = c.client.Close() }

// wrap adds to an error what was requested, and of which members.
func (c *Client) wrap(request string, err error) error {
	return fmt.Errorf("%s at %s: %w", request, c.endpoints(), err)
}

func (c *Client) endpoints() string { return strings.Join(c.client.Endpoints(), ", ") }

// Head returns the cluster's ID and revision, confirmed by a quorum.
func (c *Client) Head(ctx context.Context) (archiver.Head, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.client.Get(ctx, "health", clientv3.WithCountOnly())
	if err != nil {
		return archiver.Head{}, c.wrap("read the revision of etcd", err)
	}
	return headOf(response.Header), nil
}

// headOf returns what a header says. A server that is not etcd may send none.
func headOf(header *pb.ResponseHeader) archiver.Head {
	return archiver.Head{ClusterID: header.GetClusterId(), Revision: header.GetRevision()}
}

// Auth returns the state of authentication, confirmed by a quorum. Before etcd 3.5 it is not known.
func (c *Client) Auth(ctx context.Context) (auth.State, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.client.AuthStatus(ctx)
	if status.Code(err) == codes.Unimplemented {
		return auth.State{}, nil
	}
	if err != nil {
		return auth.State{}, c.wrap("read the state of authentication of etcd", err)
	}
	return auth.State{Revision: response.AuthRevision, Enabled: auth.SwitchOf(response.Enabled)}, nil
}

// TTL returns the TTL in seconds that a lease was granted with. The error is archiver.ErrNoLease if it does not exist.
func (c *Client) TTL(ctx context.Context, lease int64) (int64, error) {
	response, err := c.client.TimeToLive(ctx, clientv3.LeaseID(lease))
	if errors.Is(err, rpctypes.ErrLeaseNotFound) || err == nil && response.GrantedTTL <= 0 {
		return 0, archiver.ErrNoLease
	}
	if err != nil {
		return 0, c.wrap(fmt.Sprintf("read the TTL of lease %016x", lease), err)
	}
	return response.GrantedTTL, nil
}

// Watch opens a watch on all keys from a revision. It ends with ctx.
func (c *Client) Watch(ctx context.Context, from int64) (archiver.Stream, error) {
	messages, err := pb.NewWatchClient(c.client.ActiveConnection()).Watch(clientv3.WithRequireLeader(ctx), grpc.MaxCallRecvMsgSize(maxMessage), grpc.ForceCodecV2(newCodec()))
	if err != nil {
		return nil, fmt.Errorf("open a watch: %w", err)
	}
	create := &pb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: from, Fragment: true}
	err = messages.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return nil, fmt.Errorf("open a watch from revision %d: %w", from, err)
	}
	return &stream{messages: messages, at: c.endpoints()}, nil
}

// Permitted fails if the members refuse what an archiver reads: the revision, the state of authentication, and a watch on all keys.
func (c *Client) Permitted(ctx context.Context) error {
	if _, err := c.Head(ctx); err != nil {
		return err
	}
	if _, err := c.Auth(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := c.Watch(ctx, 0)
	if err != nil {
		return err
	}
	_, err = stream.Receive() // a member answers the request itself, before any change
	return err
}

type stream struct {
	messages pb.Watch_WatchClient
	at       string
	message  message
	// response is what all events of the message have in common.
	response archiver.Response
}

// Receive returns the next response. It has some of the events of a message. As in etcd's own fragments, More is set until the last of them.
func (s *stream) Receive() (archiver.Response, error) {
	if s.message.events == 0 {
		if err := s.receive(); err != nil {
			return s.response, fmt.Errorf("watch etcd at %s: %w", s.at, err)
		}
	}
	response := s.response
	var err error
	if response.Events, err = s.message.next(); err != nil {
		return archiver.Response{}, fmt.Errorf("watch etcd at %s: %w", s.at, err)
	}
	response.More = response.More || s.message.events > 0
	return response, nil
}

// receive waits for the next message.
func (s *stream) receive() error {
	err := s.messages.RecvMsg(&s.message)
	if etcd.TooLong(err) {
		return fmt.Errorf("a message is larger than %d MiB, which the operator does not hold in memory: lower --max-request-bytes of etcd", maxMessage>>20)
	}
	if err != nil {
		return err
	}
	outer, err := s.message.outer()
	if err != nil {
		return err
	}
	s.response = archiver.Response{Head: headOf(outer.Header), More: outer.Fragment, Compacted: outer.CompactRevision}
	if outer.Canceled && outer.CompactRevision == 0 {
		return fmt.Errorf("etcd has cancelled the watch: %s", etcd.Words(outer.CancelReason))
	}
	return nil
}
