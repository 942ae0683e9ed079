package access

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/etcdctl"
)

// Ctl returns the command ctl.
func Ctl(p *session.Session) *cobra.Command {
	var member, user string
	c := &cobra.Command{
		Use: "ctl <cluster> -- <arguments of etcdctl>", Short: "Run etcdctl in a member's Pod, with the member's certificate", Args: cobra.MinimumNArgs(2),
		Example: "  kubectl etcd ctl example -- get --prefix /registry --keys-only\n  kubectl etcd ctl example --user root -- user list",
	}
	c.Flags().StringVar(&member, "member", "", "member that is asked; default: one that is ready")
	c.Flags().StringVar(&user, "user", "", "user of etcd whose certificate etcdctl uses, on this machine; root is the user of the operators")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.ConnectTo(c.Context(), args[:1])
		if err != nil {
			return err
		}
		pods, err := w.Pods(c.Context(), cluster.Name)
		if err != nil {
			return err
		}
		if user != "" {
			pod, err := core.MemberPod(pods, member)
			if err != nil {
				return err
			}
			streams := etcdctl.Streams{In: p.Raw.In, Out: p.Raw.Out, Err: p.Raw.Err}
			return ctlAs(c.Context(), p, w, target{cluster, pod.Name, user}, streams, args[1:])
		}
		if err := core.NeedsUser(cluster, args[1:]); err != nil {
			return err
		}
		inside, err := core.Ctl(pods, member, args[1:])
		if err != nil {
			return err
		}
		return p.Execute(c.Context(), w, inside)
	}
	return c
}

// ctlOfOperators runs a command of etcdctl that asks nothing: in the Pod of a member by execute, or on this machine as the user of the operators if authentication is on, because
// the certificate in the Pod is of no user.
func ctlOfOperators(ctx context.Context, p *session.Session, w *session.World, to target, execute func(context.Context, *session.World, core.Inside) error, args []string) error {
	pods, err := w.Pods(ctx, to.cluster.Name)
	if err != nil {
		return err
	}
	if core.NeedsUser(to.cluster, args) == nil {
		inside, err := core.Ctl(pods, to.pod, args)
		if err != nil {
			return err
		}
		return execute(ctx, w, inside)
	}
	pod, err := core.MemberPod(pods, to.pod)
	if err != nil {
		return err
	}
	to.pod, to.user = pod.Name, core.OperatorUser
	return ctlAs(ctx, p, w, to, etcdctl.Streams{Out: p.Raw.Out, Err: p.Raw.Err}, args)
}

// target is the member that a user of etcd asks. An empty pod means one that is ready.
type target struct {
	cluster   v1beta2.EtcdCluster
	pod, user string
}

// ctlAs runs etcdctl on this machine with the certificate of a user, whose files are deleted when etcdctl has ended.
func ctlAs(ctx context.Context, p *session.Session, w *session.World, to target, streams etcdctl.Streams, args []string) error {
	secret, err := core.SecretOfUser(to.cluster, to.user)
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "kubectl-etcd-")
	if err != nil {
		return fmt.Errorf("there is no directory for the certificate: %w. Nothing was run", err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	if _, err := writeClient(ctx, w, clientFiles{cluster: to.cluster, secret: secret, directory: directory}); err != nil {
		return err
	}
	ctx, closeTunnel := context.WithCancel(ctx)
	defer closeTunnel()
	tunnel, err := w.Tunnel(ctx, to.pod, 0, p.Err)
	if err != nil {
		return err
	}
	return etcdctl.Run(ctx, streams, append(core.CtlFlags(tunnel.Port, directory), args...))
}
