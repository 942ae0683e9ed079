package killer

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Dial returns gRPC options that make every call to an etcd member a Call of this Life.
func (l *Life) Dial(endpoint string) []grpc.DialOption {
	member := endpoint
	if u, err := url.Parse(endpoint); err == nil {
		member, _, _ = strings.Cut(u.Hostname(), ".")
	}
	named := func(method string, request any) Call {
		call := Call{Name: strings.TrimPrefix(method, "/etcdserverpb.") + " at " + member, Effect: effects[method]}
		switch request := request.(type) {
		case *etcdserverpb.DefragmentRequest:
			call.Content = "now"
		case *etcdserverpb.AlarmRequest:
			call.Name += " to " + request.Action.String()
			call.Effect = request.Action != etcdserverpb.AlarmRequest_GET
		case *etcdserverpb.DowngradeRequest:
			call.Name += " to " + request.Action.String()
			call.Effect = request.Action != etcdserverpb.DowngradeRequest_VALIDATE
		}
		return call
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return final(l.call(named(method, req), func() error { return invoke(ctx, method, req, reply, conn, opts...) }))
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (stream grpc.ClientStream, err error) {
			err = l.call(named(method, nil), func() (err error) { stream, err = open(ctx, desc, conn, method, opts...); return err })
			return stream, final(err)
		}),
	}
}

// effects are the methods that always may change a cluster. Other methods are calls, too, but a kill after one of them
// equals a kill before the next call.
var effects = map[string]bool{
	"/etcdserverpb.Cluster/MemberAdd":      true,
	"/etcdserverpb.Cluster/MemberRemove":   true,
	"/etcdserverpb.Cluster/MemberUpdate":   true,
	"/etcdserverpb.Cluster/MemberPromote":  true,
	"/etcdserverpb.Maintenance/MoveLeader": true,
	"/etcdserverpb.Maintenance/Defragment": true,
	"/etcdserverpb.KV/Put":                 true,
	"/etcdserverpb.KV/DeleteRange":         true,
	"/etcdserverpb.KV/Txn":                 true,
	"/etcdserverpb.KV/Compact":             true,
}

// final keeps etcd's client from retrying the call of a killed operator.
func final(err error) error {
	if errors.Is(err, ErrKilled) {
		return status.Error(codes.Canceled, ErrKilled.Error())
	}
	return err
}
