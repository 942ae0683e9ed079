package snapshots

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Backup returns the command backup.
func Backup(p *session.Session) *cobra.Command {
	var like, series string
	var to backups.Target
	var now bool
	c := &cobra.Command{Use: "backup <cluster>", Short: "Take one snapshot now", Args: cobra.ExactArgs(1), Example: "  kubectl etcd backup example\n  kubectl etcd backup example --now"}
	bindTarget(c, &to, &like)
	c.Flags().BoolVar(&now, "now", false, "have the cluster's series take its next snapshot now, with its copies, restore tests and retention")
	c.Flags().StringVar(&series, "backup", "", "EtcdBackup of --now; default: the only series of the cluster")
	c.MarkFlagsMutuallyExclusive("like", "storage", "now")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.ConnectTo(c.Context(), args)
		if err != nil {
			return err
		}
		if now || series != "" {
			return seriesNow(c.Context(), p, w, cluster.Name, series)
		}
		var all v1beta2.EtcdBackupList
		if err := w.List(c.Context(), &all, client.InNamespace(w.Namespace)); err != nil {
			return fmt.Errorf("list EtcdBackups: %w", err)
		}
		wanted, err := backups.BackupTo(to, w.Namespace, cluster.Name, p.Now())
		if to.Type == "" {
			var series *v1beta2.EtcdBackup
			if series, err = backups.Series(cluster.Name, like, all.Items); err == nil {
				wanted = backups.BackupLike(*series, cluster.Name, p.Now())
			}
		}
		if err != nil {
			return err
		}
		if err := p.Confirm(c.Context(), fmt.Sprintf("EtcdBackup %s takes a snapshot of EtcdCluster %s to %s.", wanted.Name, cluster.Name, backups.Path(wanted.Spec.Storage))); err != nil {
			return err
		}
		return create(p, c, w, &wanted, func() edit.Step { return edit.FollowBackup(wanted) })
	}
	return p.Writes(c)
}

// bindTarget adds the flags of a store: that of an EtcdBackup, or one that flags name.
func bindTarget(c *cobra.Command, to *backups.Target, like *string) {
	c.Flags().StringVar(like, "like", "", "EtcdBackup whose store and options are used; default: the only series of the cluster")
	BindStore(c, to)
	c.Flags().Lookup("storage").Usage = "kind of store, if no EtcdBackup is to be copied: S3, GCS or ABS"
	c.MarkFlagsMutuallyExclusive("like", "storage")
}

// BindStore adds the flags of a store.
func BindStore(c *cobra.Command, to *backups.Target) {
	c.Flags().StringVar(&to.Type, "storage", "", "kind of store: S3, GCS or ABS")
	c.Flags().StringVar(&to.Path, "path", "", "<bucket>/<key> of the snapshot")
	c.Flags().StringVar(&to.Secret, "secret", "", "Secret with the credentials; default: the identity of the operator")
	c.Flags().StringVar(&to.Endpoint, "endpoint", "", "URL of the store; default: that of the provider")
	c.Flags().StringVar(&to.Region, "region", "", "region of the bucket (S3)")
	c.Flags().BoolVar(&to.PathStyle, "path-style", false, "have the bucket in the path of the URL (S3)")
	c.MarkFlagsRequiredTogether("storage", "path")
}

// seriesNow has a series take a snapshot of its own.
func seriesNow(ctx context.Context, p *session.Session, w *session.World, cluster, backup string) error {
	b, err := seriesOf(ctx, w, cluster, backup)
	if err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	if err := p.Confirm(ctx, fmt.Sprintf("EtcdBackup %s takes a snapshot of EtcdCluster %s now.", b.Name, cluster)); err != nil {
		return err
	}
	return SnapshotNow(ctx, p, w, cluster, b.Name, p.Wait)
}
