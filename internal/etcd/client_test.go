package etcd

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

func (l *countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return connection, err
}

// answering is an etcd that answers what a look asks.
type answering struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	pb.UnimplementedClusterServer
}

func (answering) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: 7}, Version: "3.6.16"}, nil
}

func (answering) HashKV(context.Context, *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	return &pb.HashKVResponse{Hash: 42}, nil
}

func (answering) Defragment(context.Context, *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	return &pb.DefragmentResponse{}, nil
}

func (answering) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{}}, nil
}

func (answering) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	return &pb.MemberListResponse{Members: []*pb.Member{{ID: 7, Name: "m0"}}}, nil
}

// With a thousand clusters, each further connection of a look costs three thousand TLS handshakes every ten seconds.
func TestALookAtAMemberDialsItOnce(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &countingListener{Listener: inner}
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, answering{})
	pb.RegisterKVServer(server, answering{})
	pb.RegisterClusterServer(server, answering{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	client, err := Open(Endpoint{URL: "http://" + inner.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if status, err := client.Status(t.Context()); err != nil || status.MemberID != 7 || status.Version != "3.6.16" {
		t.Fatalf("status %+v, error %v", status, err)
	}
	if err := client.Serving(t.Context()); err != nil {
		t.Fatal(err)
	}
	if members, err := client.Members(t.Context()); err != nil || len(members) != 1 {
		t.Fatalf("members %v, error %v", members, err)
	}
	if hash, _, err := client.HashKV(t.Context(), 1); err != nil || hash != 42 {
		t.Fatalf("hash %d, error %v", hash, err)
	}
	if err := client.Defragment(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dials := listener.accepted.Load(); dials != 1 {
		t.Errorf("a look dialled the member %d times", dials)
	}
}
