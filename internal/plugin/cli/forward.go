package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) portForward() *cobra.Command {
	var member string
	var port uint16
	c := &cobra.Command{
		Use: "port-forward <cluster>", Short: "Make a member reachable on this machine, and print the variables of etcdctl", Args: cobra.ExactArgs(1), Example: exampleOf("port-forward"),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.connectTo(c.Context(), args)
			if err != nil {
				return err
			}
			pods, err := w.pods(c.Context(), cluster.Name)
			if err != nil {
				return err
			}
			pod, err := core.MemberPod(pods, member)
			if err != nil {
				return err
			}
			directory, err := os.MkdirTemp("", "kubectl-etcd-")
			if err != nil {
				return fmt.Errorf("there is no directory for the certificate: %w. Nothing was written", err)
			}
			defer func() { _ = os.RemoveAll(directory) }()
			if _, err := w.writeClient(c.Context(), clientFiles{cluster: cluster, secret: cluster.Spec.TLS.ClientSecret(cluster.Name), directory: directory}); err != nil {
				return err
			}
			return p.forward(c.Context(), w, cluster, pod.Name, port, directory)
		},
	}
	c.Flags().StringVar(&member, "member", "", "member that is reached; default: one that is ready")
	c.Flags().Uint16Var(&port, "port", clientPort, "port of this machine; 0 for a free one")
	return c
}

// forward forwards a port of this machine to a member until Ctrl-C or until the Pod ends. It prints the variables when the port is open.
func (p *plugin) forward(ctx context.Context, w *world, cluster v1beta2.EtcdCluster, pod string, port uint16, directory string) error {
	t, err := w.tunnel(ctx, pod, port, p.Err)
	if err != nil {
		return err
	}
	fmt.Fprint(p.Out, core.Env(cluster, t.port, directory))
	fmt.Fprintf(p.Err, "# Member %s is reached at this address until Ctrl-C. The files are then deleted.\n", pod)
	err = <-t.ended
	if ctx.Err() != nil {
		return fmt.Errorf("the command was interrupted. The port is closed")
	}
	if err == nil {
		return fmt.Errorf("the connection to member %s ended. Run the command again to reach another member", pod)
	}
	return fmt.Errorf("the connection to member %s ended: %w. Run the command again to reach another member", pod, err)
}

// tunnel is an open port of this machine that leads to a member.
type tunnel struct {
	port  uint16
	ended <-chan error
}

// tunnel opens a port of this machine, 0 for a free one, until ctx ends. Errors of single connections are written to errs.
func (w *world) tunnel(ctx context.Context, pod string, port uint16, errs io.Writer) (tunnel, error) {
	dialer, err := w.dialer(pod)
	if err != nil {
		return tunnel{}, err
	}
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
func (w *world) dialer(pod string) (httpstream.Dialer, error) {
	url := w.core.CoreV1().RESTClient().Post().Namespace(w.namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(w.config)
	if err != nil {
		return nil, err
	}
	socket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, w.config)
	if err != nil {
		return nil, err
	}
	api := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return portforward.NewFallbackDialerForStreaming(socket, spdy.NewDialerForStreaming(upgrader, api, http.MethodPost, url), func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
