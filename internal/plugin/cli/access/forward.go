package access

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// PortForward returns the command port-forward.
func PortForward(p *session.Session) *cobra.Command {
	var member string
	var port uint16
	c := &cobra.Command{
		Use: "port-forward <cluster>", Short: "Make a member reachable on this machine, and print the variables of etcdctl", Args: cobra.ExactArgs(1), Example: session.ExampleOf("port-forward"),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			pods, err := w.Pods(c.Context(), cluster.Name)
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
			if _, err := writeClient(c.Context(), w, clientFiles{cluster: cluster, secret: cluster.Spec.TLS.ClientSecret(cluster.Name), directory: directory}); err != nil {
				return err
			}
			return forward(c.Context(), p, w, cluster, pod.Name, port, directory)
		},
	}
	c.Flags().StringVar(&member, "member", "", "member that is reached; default: one that is ready")
	c.Flags().Uint16Var(&port, "port", clientPort, "port of this machine; 0 for a free one")
	return c
}

// forward forwards a port of this machine to a member until Ctrl-C or until the Pod ends. It prints the variables when the port is open.
func forward(ctx context.Context, p *session.Session, w *session.World, cluster v1beta2.EtcdCluster, pod string, port uint16, directory string) error {
	t, err := w.Tunnel(ctx, pod, port, p.Err)
	if err != nil {
		return err
	}
	fmt.Fprint(p.Out, core.Env(cluster, t.Port, directory))
	fmt.Fprintf(p.Err, "# Member %s is reached at this address until Ctrl-C. The files are then deleted.\n", pod)
	err = <-t.Ended
	if ctx.Err() != nil {
		return fmt.Errorf("the command was interrupted. The port is closed")
	}
	if err == nil {
		return fmt.Errorf("the connection to member %s ended. Run the command again to reach another member", pod)
	}
	return fmt.Errorf("the connection to member %s ended: %w. Run the command again to reach another member", pod, err)
}
