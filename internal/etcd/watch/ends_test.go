package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// raw is a member that answers with frames of its own choice.
type raw struct {
	wiretest.Frames
	t *testing.T
}

// serveRaw starts a member. answer is called after the request of a watch has arrived.
func serveRaw(t *testing.T, settings []http2.Setting, answer func(raw)) string {
	t.Helper()
	return "http://" + wiretest.HTTP2(t, settings, func(f wiretest.Frames, frame http2.Frame) {
		if _, is := frame.(*http2.DataFrame); is {
			answer(raw{f, t})
		}
	})
}

// headers sends headers of stream 1.
func (r raw) headers(end bool, pairs ...string) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// created accepts the watch, as etcd does.
func (r raw) created() {
	r.headers(false, ":status", "200", "content-type", "application/grpc")
	body := encoded(r.t, &pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7}, Created: true})
	_ = r.WriteData(1, false, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
}

// The archiver reads HTTP/2 itself. If it did not see that a member has ended the watch, the archive would stand still, and its status would not
// show it. What stays behind with each try would fill the memory.
func TestEachWayInWhichAMemberEndsAWatchIsAnError(t *testing.T) {
	defer func(old time.Duration) { answerTimeout = old }(answerTimeout)
	answerTimeout = 300 * time.Millisecond
	for name, test := range map[string]struct {
		settings []http2.Setting
		answer   func(raw)
		want     codes.Code
	}{
		"trailers with an error": {nil, func(r raw) {
			r.created()
			r.headers(true, "grpc-status", "14", "grpc-message", "etcdserver: no leader")
		}, codes.Unavailable},
		"trailers with success": {nil, func(r raw) { r.created(); r.headers(true, "grpc-status", "0") }, codes.Unavailable},
		"headers with an error": {nil, func(r raw) { r.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "7") }, codes.PermissionDenied},
		"no trailers":           {nil, func(r raw) { r.created(); _ = r.WriteData(1, true, nil) }, codes.Unavailable},
		"half a message": {nil, func(r raw) {
			r.created()
			_ = r.WriteData(1, true, []byte{0, 0, 0, 0, 9, 1})
		}, codes.Unknown},
		"GOAWAY":                        {nil, func(r raw) { r.created(); _ = r.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil) }, codes.Unavailable},
		"GOAWAY without an answer":      {nil, func(r raw) { _ = r.WriteGoAway(0, http2.ErrCodeNo, nil) }, codes.Unavailable},
		"RST_STREAM":                    {nil, func(r raw) { r.created(); _ = r.WriteRSTStream(1, http2.ErrCodeInternal) }, codes.Unavailable},
		"RST_STREAM without an answer":  {nil, func(r raw) { _ = r.WriteRSTStream(1, http2.ErrCodeRefusedStream) }, codes.Unavailable},
		"a window that is never opened": {[]http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, func(raw) {}, codes.Unavailable},
		"no answer":                     {nil, func(raw) {}, codes.Unavailable},
		"a connection that is half closed": {nil, func(r raw) {
			r.created()
			_ = r.Conn.(*net.TCPConn).CloseWrite()
		}, codes.Unavailable},
		"a frame of another protocol": {nil, func(r raw) { r.created(); _, _ = r.Conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")) }, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := serveRaw(t, test.settings, test.answer)
			before := runtime.NumGoroutine()
			for range 5 {
				if err := untilTheEnd(t, endpoint); status.Code(errors.Unwrap(err)) != test.want {
					t.Errorf("the watch ended with %v, want %s", err, test.want)
				}
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(deadline) {
					stacks := make([]byte, 1<<20)
					t.Fatalf("%d goroutines, and %d before: %s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}

// untilTheEnd receives until the watch ends, and returns why. The caller of a watch does not end it.
func untilTheEnd(t *testing.T, endpoint string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := Open(ctx, Options{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Watch(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Receive(); err != nil {
				result <- err
				return
			}
		}
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		t.Fatal("the watch does not end")
		return nil
	}
}
