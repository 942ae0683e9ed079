package session

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/streaming/pkg/httpstream"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

// Execute runs a program in a Pod, through the API server. On a terminal it is interactive: etcdctl asks for passwords. No file leaves the Pod,
// and no other program is started here, so the credentials of the kubeconfig are on no command line.
func (p *Session) Execute(ctx context.Context, w *World, inside core.Inside) error {
	tty := term.TTY{In: p.Raw.In, Out: p.Raw.Out, Raw: true}
	options := remotecommand.StreamOptions{Stdin: p.Raw.In, Stdout: p.Raw.Out, Stderr: p.Raw.Err, Tty: p.Terminal}
	if p.Terminal {
		options.Stderr = nil // the terminal of the Pod has one output
		options.TerminalSizeQueue = sizes{tty.MonitorSize(tty.GetSize())}
	}
	safely := func(stream func() error) error { return stream() }
	if p.Terminal {
		safely = func(stream func() error) error { return tty.Safe(stream) }
	}
	return w.stream(ctx, inside, options, safely)
}

// ExecuteUnattended is Execute for a program that asks nothing. The author of the EtcdCluster has chosen the image of the Pod, so what it prints passes the filter for
// texts of others.
func (p *Session) ExecuteUnattended(ctx context.Context, w *World, inside core.Inside) error {
	return w.stream(ctx, inside, remotecommand.StreamOptions{Stdout: p.Out, Stderr: p.Err}, func(stream func() error) error { return stream() })
}

// stream runs a program in a Pod within safely.
func (w *World) stream(ctx context.Context, inside core.Inside, options remotecommand.StreamOptions, safely func(func() error) error) error {
	executor, err := w.executor(inside, options)
	if err != nil {
		return err
	}
	err = safely(func() error { return executor.StreamWithContext(ctx, options) })
	var exit exec.CodeExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Errorf("%s in Pod %s ended with exit code %d. What it did before, if anything, remains. Its own message is above: %w", inside.Command[0], inside.Pod, exit.Code, err)
	case err != nil:
		return fmt.Errorf("%s cannot be run in Pod %s: %w. You need the right to create pods/exec", inside.Command[0], inside.Pod, err)
	}
	return nil
}

// executor uses a WebSocket as kubectl does, and SPDY if a proxy or an old API server does not support that.
func (w *World) executor(inside core.Inside, options remotecommand.StreamOptions) (remotecommand.Executor, error) {
	url := w.Core.CoreV1().RESTClient().Post().Namespace(w.Namespace).Resource("pods").Name(inside.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: "etcd", Command: inside.Command, Stdin: options.Stdin != nil, Stdout: true, Stderr: options.Stderr != nil, TTY: options.Tty,
		}, clientscheme.ParameterCodec).URL()
	socket, err := remotecommand.NewWebSocketExecutor(w.Config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(w.Config, "POST", url)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// sizes are those of the terminal, as a stream reads them.
type sizes struct{ of term.TerminalSizeQueue }

// Next returns the next size, and nil at the end.
func (s sizes) Next() *remotecommand.TerminalSize {
	next := s.of.Next()
	if next == nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: next.Width, Height: next.Height}
}
