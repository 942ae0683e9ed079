package snapshots

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// Restore returns the command restore.
func Restore(p *session.Session) *cobra.Command {
	var snapshot, backup, at, to string
	var revision int64
	var dryRun bool
	var keys PublicKeys
	var only onlyKeys
	c := &cobra.Command{Use: "restore <cluster>", Short: "Show what a restore would lose, ask, and restore a snapshot, a revision or a point in time", Args: cobra.ExactArgs(1),
		Example: "  kubectl etcd restore example --dry-run\n  kubectl etcd restore example --to 2026-11-22T09:14:02Z"}
	c.Flags().StringVar(&snapshot, "snapshot", "", "path or file name of the snapshot; default: the newest one")
	c.Flags().StringVar(&backup, "backup", "", "EtcdBackup that took the snapshot or has the archive; default: any of the cluster")
	c.Flags().Int64Var(&revision, "revision", 0, "revision to restore from the continuous archive")
	c.Flags().StringVar(&at, "time", "", "time to restore from the continuous archive, in RFC 3339")
	c.Flags().StringVar(&to, "to", "", "revision, or time in RFC 3339, to restore from the continuous archive: short for --revision and --time")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "verify the snapshot or the point and change nothing")
	keys.bind(c)
	only.bind(c)
	c.MarkFlagsMutuallyExclusive("snapshot", "revision", "time", "to")
	for _, point := range []string{"revision", "time", "to"} {
		c.MarkFlagsMutuallyExclusive("public-key", point)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		point, err := backups.ParsePoint(revision, at, p.Now())
		if to != "" {
			point, err = backups.ParseTo(to, p.Now())
		}
		if err != nil {
			return err
		}
		signing, err := keys.Signing()
		if err != nil {
			return err
		}
		w, cluster, err := p.ConnectTo(c.Context(), args)
		if err != nil {
			return err
		}
		o, err := w.Objects(c.Context(), cluster, p.Now(), true)
		if err != nil {
			return err
		}
		o.Backups = backups.OnlyNamed(backup, observed.BackupsOf(cluster.Name, o.Backups))
		if err := only.check(); err != nil {
			return err
		}
		if !point.IsZero() {
			return restorePoint(p, c, w, o, point, only, dryRun)
		}
		return restoreSnapshot(p, c, w, o, snapshot, signing, only, dryRun)
	}
	return p.Writes(c)
}

func restoreSnapshot(p *session.Session, c *cobra.Command, w *session.World, o observed.Objects, snapshot string, signing *v1beta2.SigningKeys, only onlyKeys, dryRun bool) error {
	chosen, err := backups.Choose(snapshot, observed.Snapshots(o.Backups))
	if err != nil {
		return err
	}
	if only.asked() {
		wanted := backups.NewRestore(o.Cluster, chosen, dryRun, p.Now())
		wanted.Spec.Signing = signing
		return restoreKeys(p, c, w, wanted, only, "in snapshot "+chosen.Path)
	}
	if dryRun {
		return verify(p, c, w, o.Cluster, chosen, signing)
	}
	fmt.Fprint(p.Out, backups.Loss(o.Cluster, chosen, o.Looks, p.Now()))
	if err := p.Confirm(c.Context(), fmt.Sprintf("The data of EtcdCluster %s is replaced by the snapshot.", o.Cluster.Name)); err != nil {
		return err
	}
	wanted := backups.NewRestore(o.Cluster, chosen, false, p.Now())
	wanted.Spec.Signing = signing
	return create(p, c, w, &wanted, func() edit.Step { return edit.FollowRestore(wanted) })
}

// restorePoint shows what would be lost, also in a dry run.
func restorePoint(p *session.Session, c *cobra.Command, w *session.World, o observed.Objects, point backups.Point, only onlyKeys, dryRun bool) error {
	found, err := backups.FindPoint(point, o.Backups)
	if err != nil {
		return err
	}
	if only.asked() {
		return restoreKeys(p, c, w, backups.NewPointRestore(o.Cluster, found, dryRun, p.Now()), only, "at "+point.String())
	}
	fmt.Fprint(p.Out, backups.PointLoss(o.Cluster, found, observed.Snapshots(o.Backups), o.Looks, p.Now()))
	question := fmt.Sprintf("The data of EtcdCluster %s is replaced by that of %s.", o.Cluster.Name, point)
	if dryRun {
		question = fmt.Sprintf("An EtcdRestore verifies %s. The data of EtcdCluster %s is not changed.", point, o.Cluster.Name)
	}
	if err := p.Confirm(c.Context(), question); err != nil {
		return err
	}
	wanted := backups.NewPointRestore(o.Cluster, found, dryRun, p.Now())
	return create(p, c, w, &wanted, func() edit.Step { return edit.FollowRestore(wanted) })
}

// verify creates an EtcdRestore that only reads and checks a snapshot.
func verify(p *session.Session, c *cobra.Command, w *session.World, cluster v1beta2.EtcdCluster, chosen observed.Saved, signing *v1beta2.SigningKeys) error {
	question := fmt.Sprintf("An EtcdRestore verifies snapshot %s of EtcdBackup %s. The data of EtcdCluster %s is not changed.", chosen.Path, chosen.Backup, cluster.Name)
	if err := p.Confirm(c.Context(), question); err != nil {
		return err
	}
	wanted := backups.NewRestore(cluster, chosen, true, p.Now())
	wanted.Spec.Signing = signing
	return create(p, c, w, &wanted, func() edit.Step { return edit.FollowRestore(wanted) })
}
