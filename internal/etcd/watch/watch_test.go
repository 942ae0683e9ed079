package watch

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// member is an etcd that sends changes.
type member struct {
	pb.UnimplementedKVServer
	pb.UnimplementedWatchServer
	changes int64
	size    int // of each value; 0 for 256
}

func (member) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 42}}, nil
}

func (m member) Watch(stream pb.Watch_WatchServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	from, size := request.GetCreateRequest().StartRevision, cmp.Or(m.size, 256)
	for revision := from; revision < from+m.changes; revision++ {
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("key"), Value: make([]byte, size), ModRevision: revision}}
		if err := stream.Send(&pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7}, Events: []*mvccpb.Event{event}}); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

// serve returns the address of a member, and the configuration of its clients.
func (m member) serve(t *testing.T, secure bool) (address string, client *tls.Config) {
	t.Helper()
	ca, err := pki.NewCA("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Request{CommonName: "m0", Addresses: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true, Client: true}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = etcd.TLSConfig(pair.Cert, pair.Key, ca.Cert); err != nil {
		t.Fatal(err)
	}
	var options []grpc.ServerOption
	if secure {
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: client.Certificates, MinVersion: tls.VersionTLS12})))
	}
	server := grpc.NewServer(options...)
	pb.RegisterKVServer(server, m)
	pb.RegisterWatchServer(server, m)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), client
}

// A cluster may have a Secret with certificates and URLs without TLS, for example while it changes to TLS.
func TestTheSchemeOfTheEndpointsDecidesAboutTLS(t *testing.T) {
	for name, scheme := range map[string]string{"with TLS": "https://", "without TLS, although there are certificates": "http://"} {
		t.Run(name, func(t *testing.T) {
			address, config := member{}.serve(t, scheme == "https://")
			client, err := Open(t.Context(), Options{Endpoints: []string{scheme + address}, TLS: config})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if head, err := client.Head(t.Context()); err != nil || head.ClusterID != 7 || head.Revision != 42 {
				t.Errorf("got %+v and error %v, want cluster 7 at revision 42", head, err)
			}
		})
	}
}

func TestAMemberOfAnotherCertificateAuthorityIsRefused(t *testing.T) {
	address, _ := member{}.serve(t, true)
	_, other := member{}.serve(t, true)
	client, err := Open(t.Context(), Options{Endpoints: []string{"https://" + address}, TLS: other})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := client.Head(ctx); err == nil {
		t.Error("the certificate of the member was not checked")
	}
}

// Changes that the kernel gathers must not be lost, doubled or sent late, and the end of the watch must not wait for more.
func TestAWatchReturnsAllChangesInOrderAndEndsAtOnce(t *testing.T) {
	for name, secure := range map[string]bool{"with TLS": true, "without TLS": false} {
		t.Run(name, func(t *testing.T) {
			const changes = 20_000
			address, config := member{changes: changes}.serve(t, secure)
			endpoint := "http://" + address
			if secure {
				endpoint = "https://" + address
			}
			client, err := Open(t.Context(), Options{Endpoints: []string{endpoint}, TLS: config})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := client.Watch(ctx, 3)
			if err != nil {
				t.Fatal(err)
			}
			for want := int64(3); want < 3+changes; want++ {
				response, err := stream.Receive()
				if err != nil {
					t.Fatal(err)
				}
				if got := response.Events[0].Kv.ModRevision; got != want {
					t.Fatalf("got revision %d, want %d", got, want)
				}
			}
			cancel()
			if _, err := stream.Receive(); err == nil {
				t.Error("the watch has not ended")
			}
		})
	}
}

// A cluster may allow requests of up to 100 MiB. gRPC refuses messages of more than 4 MiB by default: each watch ended at the first large
// value, and nothing was archived any more.
func TestAWatchReturnsALargeValue(t *testing.T) {
	const size = 9 << 20
	address, _ := member{changes: 1, size: size}.serve(t, false)
	client, err := Open(t.Context(), Options{Endpoints: []string{"http://" + address}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Watch(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	response, err := stream.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(response.Events[0].Kv.Value); got != size {
		t.Errorf("got a value of %d bytes, want %d", got, size)
	}
}
