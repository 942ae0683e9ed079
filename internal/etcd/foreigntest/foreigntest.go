// Package foreigntest has servers that are no etcd, and calls all methods of a client of etcd.
package foreigntest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// Marker stands for the content of a server that a user may not read.
const Marker = "VERYSECRETanswer17"

const callTimeout = 5 * time.Second

// Servers returns the URLs of servers that write the marker wherever a client may quote it.
func Servers(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"another service in gRPC":             service(t, status.New(codes.Internal, Marker)),
		"a service that says it is gRPC":      service(t, status.New(codes.Unavailable, `connection error: desc = "transport: `+Marker+`"`)),
		"a service that continues etcd's":     service(t, status.New(codes.PermissionDenied, "etcdserver: permission denied: "+Marker)),
		"a web server over HTTP/2":            web(t, http.StatusNotFound),
		"a web server that answers 200":       web(t, http.StatusOK),
		"a server of HTTP/1.1":                raw(t, []byte("HTTP/1.1 400 "+Marker+"\r\nContent-Length: 0\r\n\r\n"+Marker)),
		"a server that ends with a reason":    raw(t, append(frame(4, nil), goAway()...)),
		"a server that writes something else": raw(t, []byte(strings.Repeat(Marker, 100))),
	}
}

// service answers every call with a status.
func service(t *testing.T, s *status.Status) string {
	t.Helper()
	detailed, err := s.WithDetails(wrapperspb.String(Marker))
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		stream.SetTrailer(metadata.Pairs("x-marker", Marker))
		return detailed.Err()
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

// web is a web server that speaks HTTP/2 without TLS.
func web(t *testing.T, code int) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; x="+Marker)
		w.Header().Set("Grpc-Message", Marker)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.Repeat(Marker, 100))
	}))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// raw answers each connection with the same bytes.
func raw(t *testing.T, answer []byte) string {
	t.Helper()
	return "http://" + wiretest.Serve(t, func(conn net.Conn) {
		_, _ = conn.Write(answer)
		_, _ = io.CopyN(io.Discard, conn, 1<<10)
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// frame returns a frame of HTTP/2 for the whole connection.
func frame(kind byte, payload []byte) []byte {
	size := binary.BigEndian.AppendUint32(nil, uint32(len(payload))) // it is short
	return append([]byte{size[1], size[2], size[3], kind, 0, 0, 0, 0, 0}, payload...)
}

// goAway returns a frame with which a server ends a connection and says why.
func goAway() []byte {
	const goAwayFrame, enhanceYourCalm = 7, 11
	return frame(goAwayFrame, append([]byte{0, 0, 0, 0, 0, 0, 0, enhanceYourCalm}, Marker...))
}

// Calls calls every method of a client with zero arguments, and returns the errors by name. It reads what they return.
func Calls(t *testing.T, client any) map[string]error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	errs := map[string]error{}
	v := reflect.ValueOf(client)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if name == "Close" {
			continue
		}
		var in []reflect.Value
		for of := range v.Method(i).Type().Ins() {
			if of == reflect.TypeFor[context.Context]() {
				in = append(in, reflect.ValueOf(ctx))
			} else {
				in = append(in, reflect.Zero(of))
			}
		}
		if v.Method(i).Type().IsVariadic() {
			in = in[:len(in)-1]
		}
		for _, out := range v.Method(i).Call(in) {
			switch result := out.Interface().(type) {
			case error:
				errs[name] = errors.Join(errs[name], result)
			case io.Reader:
				_, err := io.Copy(io.Discard, result)
				errs[name] = errors.Join(errs[name], err)
			}
		}
	}
	return errs
}

// RepeatsNothing checks that no error repeats the marker, and that there is one.
func RepeatsNothing(t *testing.T, server string, errs map[string]error) {
	t.Helper()
	failed := 0
	for call, err := range errs {
		if err != nil {
			failed++
		}
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, Marker) {
			t.Errorf("%s: %s repeats the answer: %v", server, call, err)
		}
	}
	if failed < 2 {
		t.Errorf("%s: only %d of %d calls fail", server, failed, len(errs))
	}
}
