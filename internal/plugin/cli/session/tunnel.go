package session

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// tunnel is an open port of this machine that leads to a member.
type tunnel struct {
	Port  uint16
	Ended <-chan error
}

// Tunnel opens a port of this machine, 0 for a free one, until ctx ends. Errors of single connections are written to errs.
func (w *World) Tunnel(ctx context.Context, pod string, port uint16, errs io.Writer) (tunnel, error) {
	dialer, err := w.dialer(pod)
	if err != nil {
		return tunnel{}, err
	}
	ctx = logr.NewContext(ctx, logr.Discard()) // client-go logs each connection that its user closes first
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"localhost"}, []string{fmt.Sprintf("%d:%d", port, v1beta2.ClientPort)}, ready, io.Discard, errs)
	if err != nil {
		return tunnel{}, err
	}
	go panics.Caught(func() { ended <- forwarder.ForwardPorts() }, func(err error) { ended <- err })()
	select {
	case err := <-ended:
		return tunnel{}, fmt.Errorf("member %s cannot be reached: %w. You need the right to create pods/portforward. If the port is taken, choose another one with --port", pod, err)
	case <-ready:
	}
	open, err := forwarder.GetPorts()
	if err != nil {
		return tunnel{}, err
	}
	return tunnel{open[0].Local, ended}, nil
}

// dialer uses a WebSocket as kubectl does, and SPDY if a proxy or an old API server does not support that.
func (w *World) dialer(pod string) (httpstream.Dialer, error) {
	url := w.Core.CoreV1().RESTClient().Post().Namespace(w.Namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(w.Config)
	if err != nil {
		return nil, err
	}
	socket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, w.Config)
	if err != nil {
		return nil, err
	}
	api := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return portforward.NewFallbackDialerForStreaming(socket, spdy.NewDialerForStreaming(upgrader, api, http.MethodPost, url), func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
