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
	var first snapshotFirst
	c := &cobra.Command{Use: "hibernate <cluster>", Short: "Stop all members and keep their volumes", Args: cobra.ExactArgs(1), Example: exampleOf("hibernate --snapshot")}
	first.bind(c, "stop the members")
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.apply(c.Context(), args, func(cluster v1beta2.EtcdCluster) (change, error) {
			return change{
				question: fmt.Sprintf("All members of EtcdCluster %s stop, and clients are not served.", cluster.Name),
				first:    first.take(p),
				set:      func(c *v1beta2.EtcdCluster) error { c.Spec.Hibernate = true; return nil },
				until:    func(c v1beta2.EtcdCluster) core.Step { return core.FollowCluster(c, "", v1beta2.ReasonHibernated) },
			}, nil
		})
	}
	return p.writes(c)
}

// snapshotFirst are the flags of a change before which a snapshot can be taken.
type snapshotFirst struct {
	wanted bool
	backup string
}

func (s *snapshotFirst) bind(c *cobra.Command, change string) {
	c.Flags().BoolVar(&s.wanted, "snapshot", false, "take a snapshot first, and "+change+" only if it succeeds")
	c.Flags().StringVar(&s.backup, "backup", "", "EtcdBackup that takes the snapshot; default: the only series of the cluster")
}

// advice is part of the question if no snapshot is taken.
func (s *snapshotFirst) advice() string {
	if s.wanted || s.backup != "" {
		return ""
	}
	return " No snapshot is taken first: --snapshot takes one."
}

// take returns what comes before the change.
func (s *snapshotFirst) take(p *plugin) func(context.Context, *world, *v1beta2.EtcdCluster) error {
	if !s.wanted && s.backup == "" {
		return nil
	}
	return func(ctx context.Context, w *world, c *v1beta2.EtcdCluster) error {
		if err := p.snapshotNow(ctx, w, c.Name, s.backup, true); err != nil {
			return fmt.Errorf("EtcdCluster %s was not changed, and its members run: %w", c.Name, err)
		}
		return w.Get(ctx, client.ObjectKeyFromObject(c), c)
	}
}

// seriesOf returns the series of a cluster that takes a snapshot: the one of the name, or the only one.
func (w *world) seriesOf(ctx context.Context, cluster, backup string) (*v1beta2.EtcdBackup, error) {
	var all v1beta2.EtcdBackupList
	if err := w.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return nil, fmt.Errorf("list EtcdBackups: %w", err)
	}
	series := core.SeriesOf(cluster, core.OnlyNamed(backup, all.Items))
	if len(series) != 1 {
		return nil, fmt.Errorf("cluster %s has %d series of backups that fit, and one must take the snapshot. Name it with --backup. Without a series, use kubectl etcd backup first", cluster, len(series))
	}
	return &series[0], nil
}

// snapshotNow asks a series of the cluster for a snapshot, and waits for it if wait is true.
func (p *plugin) snapshotNow(ctx context.Context, w *world, cluster, backup string, wait bool) error {
	b, err := w.seriesOf(ctx, cluster, backup)
	if err != nil {
		return err
	}
	request, before := core.Stamp(p.Now()), b.DeepCopy()
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1beta2.AnnotationBackupNow, request)
	if err := w.Patch(ctx, b, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be asked for a snapshot: %w", b.Name, err)
	}
	fmt.Fprintf(p.Out, "EtcdBackup %s is asked for a snapshot.\n", b.Name)
	if !wait {
		return nil
	}
	return p.follow(ctx, w, b, func() core.Step { return core.FollowRequest(*b, request) })
}
