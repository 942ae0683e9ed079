package etcd

import (
	"net"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/etcd/foreigntest"
)

// The message of any server in gRPC, and 1 KiB of any other answer, was in conditions and events.
func TestNoErrorRepeatsTheAnswerOfAServer(t *testing.T) {
	var group sync.WaitGroup
	defer group.Wait()
	for name, url := range foreigntest.Servers(t) {
		group.Go(func() {
			login, err := NewLogin([]byte("user"), []byte("password"))
			if err != nil {
				t.Error(err)
			}
			for _, endpoint := range []Endpoint{{URL: url}, {URL: url, Login: login}} {
				client, err := Open(endpoint, nil)
				if err != nil {
					t.Error(err)
					return
				}
				errs := foreigntest.Calls(t, client)
				foreigntest.RepeatsNothing(t, name, errs)
				for _, err := range errs {
					if err != nil && strings.Contains(Cause(err), foreigntest.Marker) {
						t.Errorf("%s: the cause repeats the answer: %s", name, Cause(err))
					}
				}
				client.Close()
			}
		})
	}
}

func TestAnErrorHasTheWordsOfEtcdAndOfTheConnection(t *testing.T) {
	for message, test := range map[string]struct {
		answered bool
		want     string
	}{
		status.Convert(rpctypes.ErrGRPCPermissionDenied).Message():                                                       {true, "etcdserver: permission denied"},
		"auth: authentication failed, password was given for no password user":                                           {true, "auth: authentication failed, password was given for no password user"},
		"etcdserver: corrupt cluster":                                                                                    {true, "etcdserver: corrupt cluster"},
		"etcdserver: permission denied, and more":                                                                        {true, otherWords},
		"grpc: received message larger than max (524288 vs. 131072)":                                                     {true, "grpc: received message larger than max (524288 vs. 131072)"},
		"grpc: received message larger than max (524288 vs. 131072), says the server":                                    {true, otherWords},
		"unknown service etcdserverpb.KV":                                                                                {true, otherWords},
		`connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: connection refused"`: {false, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: connection refused"`},
		`connection error: desc = "error reading server preface: EOF"`:                                                   {true, otherWords},
		`closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "\"x\", y"`: {false, `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR`},
		`connection error: desc = "transport: Error while dialing: failed to do connect handshake, response: \"HTTP/1.1 403\""`:                              {false, `connection error: desc = "transport: Error while dialing: failed to do connect handshake`},
		"unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type \"x\"\ndata: \"x\"":                  {false, "unexpected HTTP status code received from server: 404 (Not Found), so it is not etcd that answers"},
		"transport: malformed grpc-status: strconv.ParseInt: parsing \"x\"":                                                                                  {false, notUnderstood},
	} {
		err := withWords(status.Error(codes.Unavailable, message), test.answered)
		if got := status.Convert(err); got.Message() != test.want || got.Code() != codes.Unavailable {
			t.Errorf("%q is shown as %q, want %q", message, got.Message(), test.want)
		}
	}
	if got := Words(rpctypes.ErrGRPCPermissionDenied.Error()); got != rpctypes.ErrGRPCPermissionDenied.Error() {
		t.Errorf("the reason of a cancelled watch is shown as %q", got)
	}
}

func TestARefusedConnectionIsStillNamed(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	client, err := Open(Endpoint{URL: "http://" + listener.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := client.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
}
