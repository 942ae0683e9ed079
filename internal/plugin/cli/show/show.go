package show

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Status returns the command status.
func Status(p *session.Session) *cobra.Command {
	var look bool
	c := &cobra.Command{
		Use: "status [cluster]", Short: "Show what is wrong with a cluster, what it means and what to do", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd status example\n  kubectl etcd status -A",
		RunE: func(c *cobra.Command, args []string) error {
			if p.Everywhere {
				return overview(c.Context(), p, args)
			}
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			o, err := w.Objects(c.Context(), cluster, p.Now(), look)
			if err != nil {
				return err
			}
			report := findings.Inspect(o)
			if done, err := p.Print(report); done {
				return err
			}
			return report.Render(p.Out, terminal.Style{Color: p.Color, Wide: p.Output == "wide", Width: p.Width})
		},
	}
	c.Flags().BoolVar(&look, "look", true, "ask the members for raft lag and alarms, and read when certificates expire")
	return p.Lists(p.Formats(c, "json, yaml or wide"))
}

// Events returns the command events.
func Events(p *session.Session) *cobra.Command {
	c := &cobra.Command{
		Use: "events [cluster]", Short: "List the events of a cluster, its Pods, backups and restores by time", Args: cobra.MaximumNArgs(1), Example: session.ExampleOf("events"),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			events, err := w.EventsOf(c.Context(), cluster)
			if err != nil {
				return err
			}
			if done, err := p.Print(events); done {
				return err
			}
			if len(events) == 0 {
				return p.None("event of EtcdCluster "+cluster.Name, "Kubernetes deletes events after an hour. To see the present state: kubectl etcd status "+cluster.Name, w)
			}
			header := []string{"TIME (UTC)", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"}
			if p.Output == "wide" {
				header = append(header, "SOURCE")
			}
			var rows [][]string
			for _, e := range events {
				row := []string{plugin.EventTime(e).UTC().Format("2006-01-02 15:04:05"), e.Type, e.Reason,
					e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, strconv.Itoa(int(max(1, e.Count))), e.Message}
				if p.Output == "wide" {
					row = append(row, cmp.Or(e.ReportingController, e.Source.Component, "-"))
				}
				rows = append(rows, row)
			}
			return terminal.Table(p.Out, header, rows)
		},
	}
	return p.Formats(c, "json, yaml or wide")
}
