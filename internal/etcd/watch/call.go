package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// A client of gRPC holds a whole message before its caller sees any of it, and each piece of it in a buffer of its own. A server of a user decides
// about both. So a watch is a request of HTTP/2, whose answer is read as a stream. What is not read stays with the member.

const watchPath = "/etcdserverpb.Watch/Watch"

// call is an open watch on one member.
type call struct {
	response *http.Response
	end      context.CancelCauseFunc
	*messages
}

// open opens a watch on the first member that can be reached.
func (c *Client) open(ctx context.Context, from int64) (*call, error) {
	create := &pb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: from, Fragment: true}
	body, err := proto.Marshal(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return nil, fmt.Errorf("write the request of a watch: %w", err)
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	for _, endpoint := range c.inTurn() {
		var opened *call
		if opened, err = c.openAt(ctx, endpoint, token, frame); err == nil || ctx.Err() != nil {
			return opened, err
		}
	}
	return nil, err
}

// inTurn returns the endpoints, each time from the next one.
func (c *Client) inTurn() []string {
	all := c.options.Endpoints
	first := int(c.turn.Add(1)) % max(len(all), 1)
	return append(append([]string(nil), all[first:]...), all[:first]...)
}

// token returns a token of the user, and nothing if authentication is off.
func (c *Client) token(ctx context.Context) (string, error) {
	if c.options.User == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := c.client.Authenticate(ctx, c.options.User, c.options.Password)
	if isOff(err) {
		return "", nil
	}
	if err != nil {
		return "", c.wrap("get a token of the user", err)
	}
	return answer.Token, nil
}

func (c *Client) openAt(ctx context.Context, endpoint, token string, frame []byte) (*call, error) {
	member, err := url.Parse(endpoint)
	if err != nil || member.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a member", endpoint)
	}
	ctx, end := context.WithCancelCause(ctx)
	slow := time.AfterFunc(answerTimeout, panics.Caught(func() { end(errNoAnswer) }, func(error) {}))
	opened, err := c.openOn(ctx, member, token, frame)
	slow.Stop()
	if err == nil && ctx.Err() != nil { // the timer was faster than Stop
		err = ofTransport(ctx, ctx.Err())
	}
	if err != nil {
		end(err) // it ends the request
		return nil, err
	}
	opened.end = end
	return opened, nil
}

// answerTimeout is how long a member may need to accept a watch. etcd answers before there is any change.
var answerTimeout = requestTimeout

var errNoAnswer = status.Error(codes.Unavailable, fmt.Sprintf("the member has not accepted the watch within %s", requestTimeout))

// openOn opens a watch that ends with ctx.
func (c *Client) openOn(ctx context.Context, member *url.URL, token string, frame []byte) (*call, error) {
	transport := dialer{member, c.options.TLS}.transport()
	context.AfterFunc(ctx, panics.Caught(transport.CloseIdleConnections, func(error) {}))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+member.Host+watchPath, newRequest(ctx, frame))
	if err != nil {
		return nil, fmt.Errorf("%q is no URL of a member: %w", member, err)
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Hasleader": {"true"}}
	if token != "" {
		r.Header.Set("Token", token)
	}
	response, err := transport.RoundTrip(r) // it follows no redirect
	if err != nil {
		return nil, ofTransport(ctx, err)
	}
	opened := &call{response: response, messages: newMessages(response.Body)}
	if err := opened.accepted(); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return opened, nil
}

// request is a body that ends only with its watch, because a watch ends with its requests.
type request struct {
	*bytes.Reader
	ctx context.Context //nolint:containedctx // it is that of the watch
	end context.CancelFunc
}

func newRequest(ctx context.Context, frame []byte) request {
	ctx, end := context.WithCancel(ctx)
	return request{bytes.NewReader(frame), ctx, end}
}

// Close ends a Read. The transport calls it if the connection is lost, and waits for that Read before it returns the error of the answer.
func (r request) Close() error {
	r.end()
	return nil
}

// Read is that of io.Reader. After the response has begun, only this ends the stream when the watch ends.
func (r request) Read(p []byte) (int, error) {
	if r.Len() > 0 {
		return r.Reader.Read(p)
	}
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// accepted returns an error if the answer is not one of gRPC, or has no messages.
func (c *call) accepted() error {
	switch {
	case c.response.StatusCode != http.StatusOK:
		return status.Error(codes.Unavailable, fmt.Sprintf("unexpected HTTP status code received from server: %d, so it is not etcd that answers", c.response.StatusCode))
	case !strings.HasPrefix(c.response.Header.Get("Content-Type"), "application/grpc"):
		return status.Error(codes.Unavailable, errNotUnderstood.Error())
	case c.response.Header.Get("Grpc-Status") != "":
		return statusOf(c.response.Header)
	}
	return nil
}

// failed returns why the stream has ended.
func (c *call) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ofTransport(ctx, err)
	}
	if c.response.Trailer.Get("Grpc-Status") == "" {
		return status.Error(codes.Unavailable, "error reading from server: EOF")
	}
	return statusOf(c.response.Trailer)
}

// statusOf returns the status of a call, with words that may be shown.
func statusOf(h http.Header) error {
	code, err := strconv.ParseUint(h.Get("Grpc-Status"), 10, 32)
	if err != nil {
		return errNotUnderstood
	}
	if codes.Code(code) == codes.OK {
		return status.Error(codes.Unavailable, "the member has ended the watch")
	}
	message, err := url.PathUnescape(h.Get("Grpc-Message"))
	if err != nil {
		message = ""
	}
	return status.Error(codes.Code(code), etcd.Words(message))
}

// ofTransport returns an error of the connection without what it quotes of an answer.
func ofTransport(ctx context.Context, err error) error {
	var own interface{ GRPCStatus() *status.Status }
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own), errors.Is(err, errNotUnderstood), errors.Is(err, errNoEvent), errors.Is(err, errTooLarge):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return status.Error(codes.Unavailable, "the connection to the member has failed, or the server does not answer as etcd does")
}
