package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) hibernate() *cobra.Command {
	var snapshot bool
	var backup string
	c := &cobra.Command{Use: "hibernate <cluster>", Short: "Stop all members and keep their volumes", Args: cobra.ExactArgs(1), Example: exampleOf("hibernate --snapshot")}
	c.Flags().BoolVar(&snapshot, "snapshot", false, "take a snapshot first, and stop the members only if it succeeds")
	c.Flags().StringVar(&backup, "backup", "", "EtcdBackup that takes the snapshot; default: the only series of the cluster")
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.apply(c.Context(), args, func(cluster v1beta2.EtcdCluster) (change, error) {
			wanted := change{
				question: fmt.Sprintf("All members of EtcdCluster %s stop, and clients are not served.", cluster.Name),
				set:      func(c *v1beta2.EtcdCluster) error { c.Spec.Hibernate = true; return nil },
				until:    func(c v1beta2.EtcdCluster) core.Step { return core.FollowCluster(c, "", v1beta2.ReasonHibernated) },
			}
			if snapshot || backup != "" {
				wanted.first = func(ctx context.Context, w *world, c *v1beta2.EtcdCluster) error {
					if err := p.lastSnapshot(ctx, w, c.Name, backup); err != nil {
						return fmt.Errorf("EtcdCluster %s was not changed, and its members run: %w", c.Name, err)
					}
					return w.Get(ctx, client.ObjectKeyFromObject(c), c)
				}
			}
			return wanted, nil
		})
	}
	return p.writes(c)
}

// lastSnapshot asks a series of the cluster for a snapshot, and waits for it.
func (p *plugin) lastSnapshot(ctx context.Context, w *world, cluster, backup string) error {
	var all v1beta2.EtcdBackupList
	if err := w.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	series := core.SeriesOf(cluster, core.OnlyNamed(backup, all.Items))
	if len(series) != 1 {
		return fmt.Errorf("cluster %s has %d series of backups that fit, and one must take the snapshot. Name it with --backup, or use kubectl etcd backup and then hibernate without --snapshot", cluster, len(series))
	}
	b, request := &series[0], core.Stamp(p.Now())
	before := b.DeepCopy()
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1beta2.AnnotationBackupNow, request)
	if err := w.Patch(ctx, b, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be asked for a snapshot: %w", b.Name, err)
	}
	fmt.Fprintf(p.Out, "EtcdBackup %s is asked for a snapshot.\n", b.Name)
	return p.follow(ctx, w, b, func() core.Step { return core.FollowRequest(*b, request) })
}
