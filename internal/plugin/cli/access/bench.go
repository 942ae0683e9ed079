package access

import (
	"fmt"

	"github.com/spf13/cobra"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// Bench returns the command bench.
func Bench(p *session.Session) *cobra.Command {
	var load, member string
	c := &cobra.Command{
		Use: "bench <cluster>", Short: "Measure writes for a minute with etcdctl check perf", Args: cobra.ExactArgs(1), Example: session.ExampleOf("bench --load m"),
		RunE: func(c *cobra.Command, args []string) error {
			command, err := core.Bench(load)
			if err != nil {
				return err
			}
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("etcdctl writes keys below %s into EtcdCluster %s for 60 seconds, and then deletes them. Clients wait longer during this time, and the database grows.", core.BenchPrefix, cluster.Name)
			if err := p.Confirm(c.Context(), question); err != nil {
				return err
			}
			return ctlOfOperators(c.Context(), p, w, target{cluster: cluster, pod: member}, p.Execute, command)
		},
	}
	c.Flags().BoolVarP(&p.Yes, "yes", "y", false, "do not ask before the change")
	c.Flags().StringVar(&load, "load", "s", "number of writes: s (150 a second), m (1,000), l (8,000) or xl (15,000)")
	c.Flags().StringVar(&member, "member", "", "member in whose Pod etcdctl runs; default: one that is ready")
	return c
}
