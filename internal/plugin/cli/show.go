package cli

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) status() *cobra.Command {
	var look bool
	c := &cobra.Command{
		Use: "status [cluster]", Short: "Show what is wrong with a cluster, what it means and what to do", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.connectTo(c.Context(), args)
			if err != nil {
				return err
			}
			o, err := w.objects(c.Context(), cluster, p.Now(), look)
			if err != nil {
				return err
			}
			report := core.Inspect(o)
			if done, err := p.print(report); done {
				return err
			}
			return report.Render(p.Out, core.Style{Color: p.Color, Wide: p.output == "wide"})
		},
	}
	c.Flags().BoolVar(&look, "look", true, "ask the members for raft lag and alarms, and read when certificates expire")
	return p.formats(c, "json, yaml or wide")
}

// print writes a value as JSON or YAML if the user asks for that.
func (p *plugin) print(value any) (done bool, err error) {
	switch p.output {
	case "json":
		encoder := json.NewEncoder(p.Out)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(value)
	case "yaml":
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = p.Out.Write(text)
		}
		return true, err
	case "", "wide":
		return false, nil
	}
	return true, fmt.Errorf("output format %q does not exist. Nothing is shown. Write json, yaml or wide", p.output)
}

func (p *plugin) snapshots() *cobra.Command {
	c := &cobra.Command{
		Use: "snapshots [cluster]", Short: "List the snapshots in the status of EtcdBackups, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := p.connect()
			if err != nil {
				return err
			}
			var all v1beta2.EtcdBackupList
			if err := w.List(c.Context(), &all, client.InNamespace(w.namespace)); err != nil {
				return fmt.Errorf("list EtcdBackups: %w", err)
			}
			if len(args) > 0 {
				all.Items = core.BackupsOf(args[0], all.Items)
			}
			found := core.Snapshots(all.Items)
			if done, err := p.print(found); done {
				return err
			}
			return core.SnapshotTable(p.Out, found, p.output == "wide", p.Now())
		},
	}
	return p.formats(c, "json, yaml or wide")
}

func (p *plugin) events() *cobra.Command {
	return &cobra.Command{
		Use: "events [cluster]", Short: "List the events of a cluster, its Pods, backups and restores by time", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.connectTo(c.Context(), args)
			if err != nil {
				return err
			}
			events, err := w.eventsOf(c.Context(), cluster)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, e := range events {
				rows = append(rows, []string{core.EventTime(e).UTC().Format("2006-01-02 15:04:05"), e.Type, e.Reason,
					e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, strconv.Itoa(int(max(1, e.Count))), e.Message})
			}
			return core.Table(p.Out, []string{"TIME (UTC)", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"}, rows)
		},
	}
}
