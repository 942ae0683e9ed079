// Package watch reads every event of an etcd cluster in order, with constant memory. It implements archiver.Cluster.
//
// It does not use the watcher of etcd's client, which collects the fragments of a response and buffers responses without a
// limit while its reader is slow. Here a slow reader slows down the member, which then reads older events from its disk.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Largest is the memory that one change can take.
const Largest = copies * maxEvent

// Open prepares the connection. With a user it waits until a member has checked the password.
func Open(ctx context.Context, o Options) (*Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: o.Endpoints, TLS: o.TLS, Username: o.User, Password: o.Password,
		DialTimeout: dialTimeout, DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout,
		DialOptions: slices.Concat([]grpc.DialOption{
			grpc.WithInitialWindowSize(shortWindow), grpc.WithInitialConnWindowSize(shortWindow),
			grpc.WithTransportCredentials(gatherer{o.credentials()}), // replaces those of etcd's client, which are the same
		}, etcd.ShortAnswers(), etcd.OnlyKnownWords()),
		Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", o.Endpoints, err)
	}
	return &Client{client: client, options: o}, nil
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

// Head returns the cluster's ID and revision, confirmed by a quorum.
func (c *Client) Head(ctx context.Context) (archiver.Head, error) {
	response, err := inTurn(ctx, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return c.client.Get(ctx, "health", clientv3.WithCountOnly())
	})
	if err != nil {
		return archiver.Head{}, c.wrap("read the revision of etcd", err)
	}
	return headOf(response.Header), nil
}

// Auth returns the state of authentication of a cluster, confirmed by a quorum. Before etcd 3.5 it is not known. With the ID 0, it is that of any cluster.
func (c *Client) Auth(ctx context.Context, clusterID uint64) (auth.State, error) {
	response, err := inTurn(ctx, c.client.AuthStatus)
	if status.Code(err) == codes.Unimplemented {
		return auth.State{}, nil
	}
	if err != nil {
		if etcd.RefusalOf(err) != etcd.NotRefused {
			err = fmt.Errorf("%w: %w", archiver.ErrRefused, err)
		}
		return auth.State{}, c.wrap("read the state of authentication of etcd", err)
	}
	if err := sameCluster(response.Header, clusterID); err != nil {
		return auth.State{}, c.wrap("read the state of authentication of etcd", err)
	}
	return auth.State{Revision: response.AuthRevision, Enabled: auth.SwitchOf(response.Enabled)}, nil
}

// sameCluster returns an error if another cluster has answered.
func sameCluster(header *pb.ResponseHeader, clusterID uint64) error {
	if id := header.GetClusterId(); clusterID != 0 && id != 0 && id != clusterID {
		return fmt.Errorf("%w: its ID is %016x, and that of the archive %016x", archiver.ErrOtherCluster, id, clusterID)
	}
	return nil
}

// TTL returns the TTL in seconds that a lease of a cluster was granted with. The error is archiver.ErrNoLease if it does not exist.
func (c *Client) TTL(ctx context.Context, clusterID uint64, lease int64) (int64, error) {
	response, err := inTurn(ctx, func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
		return c.client.TimeToLive(ctx, clientv3.LeaseID(lease))
	})
	if err == nil {
		if err := sameCluster(response.ResponseHeader, clusterID); err != nil {
			return 0, c.wrap(fmt.Sprintf("read the TTL of lease %016x", lease), err)
		}
	}
	if errors.Is(err, rpctypes.ErrLeaseNotFound) || err == nil && response.GrantedTTL <= 0 {
		return 0, archiver.ErrNoLease
	}
	if err != nil {
		return 0, c.wrap(fmt.Sprintf("read the TTL of lease %016x", lease), err)
	}
	return response.GrantedTTL, nil
}

// isOff reports whether a member gives no token because authentication is off.
func isOff(err error) bool { return errors.Is(err, rpctypes.ErrAuthNotEnabled) }
