package access

import (
	"github.com/spf13/cobra"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// Ctl returns the command ctl.
func Ctl(p *session.Session) *cobra.Command {
	var member string
	c := &cobra.Command{
		Use: "ctl <cluster> -- <arguments of etcdctl>", Short: "Run etcdctl in a member's Pod, with the member's certificate", Args: cobra.MinimumNArgs(2),
		Example: "  kubectl etcd ctl example -- get --prefix /registry --keys-only",
	}
	c.Flags().StringVar(&member, "member", "", "member in whose Pod etcdctl runs; default: one that is ready")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := p.Connect()
		if err != nil {
			return err
		}
		pods, err := w.Pods(c.Context(), args[0])
		if err != nil {
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
