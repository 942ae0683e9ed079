package snapshots

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// seriesOf returns the series of a cluster that takes a snapshot: the one of the name, or the only one.
func seriesOf(ctx context.Context, w *session.World, cluster, backup string) (*v1beta2.EtcdBackup, error) {
	var all v1beta2.EtcdBackupList
	if err := w.List(ctx, &all, client.InNamespace(w.Namespace)); err != nil {
		return nil, fmt.Errorf("list EtcdBackups: %w", err)
	}
	series := backups.SeriesOf(cluster, backups.OnlyNamed(backup, all.Items))
	if len(series) != 1 {
		return nil, fmt.Errorf("cluster %s has %d series of backups that fit, and one must take the snapshot. Name it with --backup. Without a series, use kubectl etcd backup first", cluster, len(series))
	}
	return &series[0], nil
}

// SnapshotNow asks a series of the cluster for a snapshot, and waits for it if wait is true.
func SnapshotNow(ctx context.Context, p *session.Session, w *session.World, cluster, backup string, wait bool) error {
	b, err := seriesOf(ctx, w, cluster, backup)
	if err != nil {
		return err
	}
	request, before := backups.Stamp(p.Now()), b.DeepCopy()
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1beta2.AnnotationBackupNow, request)
	if err := w.Patch(ctx, b, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be asked for a snapshot: %w", b.Name, err)
	}
	fmt.Fprintf(p.Out, "EtcdBackup %s is asked for a snapshot.\n", b.Name)
	if !wait {
		return nil
	}
	return p.Follow(ctx, w, b, func() edit.Step { return edit.FollowRequest(*b, request) })
}
