// Package wiretest serves connections for tests that decide about each byte of an answer. No server of a library sends such answers.
package wiretest

import (
	"bufio"
	"net"
	"net/http"
	"testing"
)

// Serve accepts connections on loopback until the test ends, and closes each when serve returns. It returns the address as host:port.
func Serve(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// HTTP is Serve for servers of HTTP/1.1: serve gets the first request of each connection, and writes the whole answer.
func HTTP(t testing.TB, serve func(net.Conn, *http.Request)) string {
	t.Helper()
	return Serve(t, func(conn net.Conn) {
		if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			serve(conn, request)
		}
	})
}
