package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) status() *cobra.Command {
	var look bool
	c := &cobra.Command{
		Use: "status [cluster]", Short: "Show what is wrong with a cluster, what it means and what to do", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd status example\n  kubectl etcd status -A",
		RunE: func(c *cobra.Command, args []string) error {
			if p.everywhere {
				return p.overview(c.Context(), args)
			}
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
			return report.Render(p.Out, core.Style{Color: p.Color, Wide: p.output == "wide", Width: p.Width})
		},
	}
	c.Flags().BoolVar(&look, "look", true, "ask the members for raft lag and alarms, and read when certificates expire")
	return p.lists(p.formats(c, "json, yaml or wide"))
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
	var verify bool
	var snapshot string
	var keys publicKeys
	c := &cobra.Command{
		Use: "snapshots [cluster]", Short: "List the snapshots in the status of EtcdBackups, newest first, or verify one", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd snapshots example\n  kubectl etcd snapshots example --verify",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := p.connect()
			if err != nil {
				return err
			}
			var all v1beta2.EtcdBackupList
			if err := w.List(c.Context(), &all, p.within(w)); err != nil {
				return fmt.Errorf("list EtcdBackups: %w", err)
			}
			if verify || snapshot != "" || len(keys) > 0 {
				return p.verifyOne(c, w, args, snapshot, keys, all.Items)
			}
			if len(args) > 0 {
				all.Items = core.BackupsOf(args[0], all.Items)
			}
			found := core.Snapshots(all.Items)
			if done, err := p.print(found); done {
				return err
			}
			if len(found) == 0 {
				return p.none(nameOf("snapshot", args), core.NoSnapshot(all.Items, args, p.everywhere), w)
			}
			return core.SnapshotTable(p.Out, found, p.output == "wide", p.everywhere, p.Now())
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "read and check a snapshot with an EtcdRestore that changes no data")
	c.Flags().StringVar(&snapshot, "snapshot", "", "path or file name of the snapshot to verify; default: the newest one")
	keys.bind(c)
	return p.lists(p.writes(p.formats(c, "json, yaml or wide")))
}

// nameOf returns what a list is of: "snapshot of EtcdCluster example".
func nameOf(what string, args []string) string {
	if len(args) == 0 {
		return what
	}
	return what + " of EtcdCluster " + args[0]
}

func (p *plugin) verifyOne(c *cobra.Command, w *world, args []string, snapshot string, keys publicKeys, all []v1beta2.EtcdBackup) error {
	if p.everywhere {
		return fmt.Errorf("one snapshot is verified at a time. Nothing was changed. Name its namespace with -n, and remove --all-namespaces")
	}
	signing, err := keys.signing()
	if err != nil {
		return err
	}
	cluster, err := w.cluster(c.Context(), args)
	if err != nil {
		return err
	}
	chosen, err := core.Choose(snapshot, core.Snapshots(core.BackupsOf(cluster.Name, all)))
	if err != nil {
		return err
	}
	return p.verify(c, w, cluster, chosen, signing)
}

func (p *plugin) events() *cobra.Command {
	c := &cobra.Command{
		Use: "events [cluster]", Short: "List the events of a cluster, its Pods, backups and restores by time", Args: cobra.MaximumNArgs(1), Example: exampleOf("events"),
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.connectTo(c.Context(), args)
			if err != nil {
				return err
			}
			events, err := w.eventsOf(c.Context(), cluster)
			if err != nil {
				return err
			}
			if done, err := p.print(events); done {
				return err
			}
			if len(events) == 0 {
				return p.none("event of EtcdCluster "+cluster.Name, "Kubernetes deletes events after an hour. To see the present state: kubectl etcd status "+cluster.Name, w)
			}
			header := []string{"TIME (UTC)", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"}
			if p.output == "wide" {
				header = append(header, "SOURCE")
			}
			var rows [][]string
			for _, e := range events {
				row := []string{core.EventTime(e).UTC().Format("2006-01-02 15:04:05"), e.Type, e.Reason,
					e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, strconv.Itoa(int(max(1, e.Count))), e.Message}
				if p.output == "wide" {
					row = append(row, cmp.Or(e.ReportingController, e.Source.Component, "-"))
				}
				rows = append(rows, row)
			}
			return core.Table(p.Out, header, rows)
		},
	}
	return p.formats(c, "json, yaml or wide")
}
