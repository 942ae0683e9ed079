package watch

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// maxHeaders limits the headers of an answer. Those of etcd have some hundred bytes.
const maxHeaders = 64 << 10

// dialer connects to one member as gRPC does: through the proxy of HTTPS_PROXY, and with TLS if the URL of the member has it.
type dialer struct {
	member *url.URL
	tls    *tls.Config
}

// transport returns a transport whose connections are only to this member. It holds at most window bytes of an answer, in whatever pieces they
// arrive: the rest stays with the member.
func (d dialer) transport() *http.Transport {
	t := &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) },
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        dialTimeout,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: window, MaxReceiveBufferPerConnection: window, MaxReadFrameSize: 16 << 10,
			SendPingTimeout: keepAliveTime, PingTimeout: keepAliveTimeout, WriteByteTimeout: requestTimeout,
		},
	}
	t.Protocols.SetUnencryptedHTTP2(true) // TLS is below it, with etcd's credentials
	return t
}

func (d dialer) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, unavailable(err.Error())
	}
	secured, _, err := etcd.Credentials(d.member.String(), d.tls).ClientHandshake(ctx, d.member.Host, gather(conn, gatherTime))
	if err != nil {
		_ = conn.Close()
		return nil, unavailable("authentication handshake failed: " + err.Error())
	}
	return secured, nil
}

// connect returns a connection to the member, or through a proxy to it.
func (d dialer) connect(ctx context.Context) (net.Conn, error) {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: d.member.Host}})
	if err != nil {
		return nil, fmt.Errorf("read the address of the proxy: %w", err)
	}
	if proxy == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", d.member.Host)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	if err := tunnel(ctx, conn, proxy, d.member.Host); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// tunnel asks a proxy for a connection to a host.
func tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, host string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: host}, Host: host, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
		request.Header = http.Header{"Proxy-Authorization": request.Header["Authorization"]}
	}
	if end, has := ctx.Deadline(); has {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	if err := request.WithContext(ctx).Write(conn); err != nil {
		return fmt.Errorf("ask the proxy %s for %s: %w", proxy.Host, host, err)
	}
	// One byte at a time, so that nothing of what follows the answer is read with it.
	response, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(oneByOne{conn}, maxHeaders), 16), request)
	if err != nil {
		return fmt.Errorf("ask the proxy %s for %s: it does not answer in HTTP", proxy.Host, host)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the proxy %s for %s: it answers %d", proxy.Host, host, response.StatusCode)
	}
	return conn.SetDeadline(time.Time{})
}

type oneByOne struct{ io.Reader }

func (o oneByOne) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.Reader.Read(p[:1])
}

// unavailable is an error as gRPC returns it if a member cannot be reached.
func unavailable(text string) error {
	return status.Error(codes.Unavailable, "connection error: "+legible.Line(text))
}
