package watch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// behindProxy marks the process that watches a member through the proxy of its environment. Go reads that only once in a process.
const behindProxy = "WATCH_BEHIND_PROXY"

// Some operators reach their members only through the proxy of HTTPS_PROXY. A watch that does not use it reaches none, and nothing is archived.
func TestAWatchUsesTheProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv(behindProxy) != "" {
		watchBehindProxy(t)
		return
	}
	member := server(t, func(string) ([]byte, bool) {
		return encoded(t, &pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 42}, Created: true}), true
	})
	var asked atomic.Int32
	proxy := wiretest.HTTP(t, func(conn net.Conn, r *http.Request) {
		user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		if r.Method != http.MethodConnect || r.Host != "member.example:2379" || user != "user" || password != "secret" || r.Header.Get("Authorization") != "" {
			t.Errorf("the proxy is asked with %s %s by %s, %v", r.Method, r.Host, user, r.Header)
		}
		asked.Add(1)
		to, err := net.Dial("tcp", strings.TrimPrefix(member.options.Endpoints[0], "http://"))
		if err != nil {
			return
		}
		defer to.Close()
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return
		}
		go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
		_, _ = io.Copy(conn, to)
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run=^TestAWatchUsesTheProxyOfTheEnvironment$")
	child.Env = append(os.Environ(), behindProxy+"=1", "HTTPS_PROXY=http://user:secret@"+proxy, "NO_PROXY=", "no_proxy=")
	if said, err := child.CombinedOutput(); err != nil || asked.Load() == 0 {
		t.Errorf("the watch did not use the proxy: %v, asked %d times\n%s", err, asked.Load(), said)
	}
}

func watchBehindProxy(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := Open(ctx, Options{Endpoints: []string{"http://member.example:2379"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Watch(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Receive(); err != nil || r.Head.ClusterID != 7 || r.Head.Revision != 42 {
		t.Errorf("received %+v, %v", r, err)
	}
}

// A member may send its first frame at once, and the proxy may send it with its answer. If that were lost, no watch would begin.
func TestATunnelLeavesWhatFollowsTheAnswer(t *testing.T) {
	conn, err := through(t, func(conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nVia: proxy\r\n\r\nfirst frame")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if rest, err := io.ReadAll(conn); string(rest) != "first frame" {
		t.Errorf("received %q, %v", rest, err)
	}
}

// An error of a proxy must name the proxy, because the member is not at fault. It must not repeat what a server says.
func TestATunnelThatAProxyRefusesIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(net.Conn)
		want   string
	}{
		"it refuses":            {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 407 leaked\r\n\r\nleaked") }, "it answers 407"},
		"it speaks another one": {func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-leaked\r\n") }, "it does not answer in HTTP"},
		"it closes":             {func(net.Conn) {}, "it does not answer in HTTP"},
		"it says nothing":       {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "it does not answer in HTTP"},
		"its answer has no end": {func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = io.WriteString(c, "Leaked: "+strings.Repeat("x", 1<<10)+"\r\n")
			}
		}, "it does not answer in HTTP"},
	} {
		heaptest.Bound(t, 8, func() {
			_, err := through(t, func(conn net.Conn, _ *http.Request) { test.answer(conn) })
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "eaked") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: error %v, want %q", name, err, test.want)
			}
		})
	}
}

// through asks a proxy for a tunnel.
func through(t *testing.T, serve func(net.Conn, *http.Request)) (net.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	proxy := &url.URL{Scheme: "http", Host: wiretest.HTTP(t, serve), User: url.UserPassword("user", "secret")}
	conn, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	if err := tunnel(ctx, conn, proxy, "member.example:2379"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
