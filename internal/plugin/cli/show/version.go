package show

import (
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Version returns the command version.
func Version(p *session.Session, client string) *cobra.Command {
	var only bool
	c := &cobra.Command{
		Use: "version", Short: "Show the version of the plugin and of the operators that run", Args: cobra.NoArgs,
		Example: "  kubectl etcd version\n  kubectl etcd version --client -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			found := core.Versions{Client: client, Alone: only}
			if !only {
				w, err := p.Connect()
				if err != nil {
					return err
				}
				// The operators may run in any namespace.
				leases, err := w.Core.CoordinationV1().Leases(metav1.NamespaceAll).List(c.Context(), metav1.ListOptions{})
				if err != nil {
					found.Unknown = "The versions of the operators are not known: " + err.Error()
				} else {
					found.Operators = core.OperatorsOf(leases.Items)
				}
			}
			if done, err := p.Print(found); done {
				return err
			}
			return found.Render(p.Out, terminal.Style{Width: p.Width})
		},
	}
	c.Flags().BoolVar(&only, "client", false, "show the version of the plugin only, without Kubernetes")
	return p.Formats(c, "json or yaml")
}
