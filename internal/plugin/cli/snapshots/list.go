package snapshots

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// List returns the command snapshots.
func List(p *session.Session) *cobra.Command {
	var verify bool
	var snapshot string
	var keys PublicKeys
	c := &cobra.Command{
		Use: "snapshots [cluster]", Short: "List the snapshots in the status of EtcdBackups, newest first, or verify one", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd snapshots example\n  kubectl etcd snapshots example --verify",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := p.Connect()
			if err != nil {
				return err
			}
			var all v1beta2.EtcdBackupList
			if err := w.List(c.Context(), &all, p.Within(w)); err != nil {
				return fmt.Errorf("list EtcdBackups: %w", err)
			}
			if verify || snapshot != "" || len(keys) > 0 {
				return verifyOne(p, c, w, args, snapshot, keys, all.Items)
			}
			if len(args) > 0 {
				all.Items = observed.BackupsOf(args[0], all.Items)
			}
			found := observed.Snapshots(all.Items)
			if done, err := p.Print(found); done {
				return err
			}
			if len(found) == 0 {
				return p.None(session.NameOf("snapshot", args), backups.NoSnapshot(all.Items, args, p.Everywhere), w)
			}
			return backups.SnapshotTable(p.Out, found, p.Output == "wide", p.Everywhere, p.Now())
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "read and check a snapshot with an EtcdRestore that changes no data")
	c.Flags().StringVar(&snapshot, "snapshot", "", "path or file name of the snapshot to verify; default: the newest one")
	keys.bind(c)
	return p.Lists(p.Writes(p.Formats(c, "json, yaml or wide")))
}

func verifyOne(p *session.Session, c *cobra.Command, w *session.World, args []string, snapshot string, keys PublicKeys, all []v1beta2.EtcdBackup) error {
	if p.Everywhere {
		return fmt.Errorf("one snapshot is verified at a time. Nothing was changed. Name its namespace with -n, and remove --all-namespaces")
	}
	signing, err := keys.Signing()
	if err != nil {
		return err
	}
	cluster, err := w.Cluster(c.Context(), args)
	if err != nil {
		return err
	}
	chosen, err := backups.Choose(snapshot, observed.Snapshots(observed.BackupsOf(cluster.Name, all)))
	if err != nil {
		return err
	}
	return verify(p, c, w, cluster, chosen, signing)
}
