package podrunner

import (
	"net"
	"os"
	"testing"
)

// If a run of the tests is killed, a member may outlive it. A member of the next run with its address could not listen, and its cluster
// would never form.
func TestARangeOfAddressesWithAnOpenSocketIsNotUsed(t *testing.T) {
	const left = 243
	listener, err := net.Listen("tcp4", "127.77.243.12:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	if !hasSocket(sockets, left) {
		t.Error("the socket of another process is not found")
	}
	if hasSocket(sockets, left-1) {
		t.Error("a range without a socket is taken to be in use")
	}
}
