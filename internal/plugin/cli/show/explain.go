package show

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// Explain returns the command explain.
func Explain(p *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "explain <reason>", Short: "Show what a reason of a status means, what it does to clients, and how to fix it", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd explain QuorumLost\n  kubectl etcd explain        # lists all reasons",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprintln(p.Out, strings.Join(runbook.Reasons(), "\n"))
				return nil
			}
			text, err := runbook.Explain(args[0], p.Width)
			if err != nil {
				return err
			}
			fmt.Fprint(p.Out, text)
			return nil
		},
	}
}
