package session

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// Read returns what status shows of a cluster, read as status reads it.
func Read(ctx context.Context, config *rest.Config, namespace, cluster string, now time.Time) (observed.Objects, error) {
	w, err := newWorld(config, namespace)
	if err != nil {
		return observed.Objects{}, err
	}
	c, err := w.Cluster(ctx, []string{cluster})
	if err != nil {
		return observed.Objects{}, err
	}
	return w.Objects(ctx, c, now, true)
}

// Cluster reads an EtcdCluster. Without a name there must be exactly one in the namespace.
func (w *World) Cluster(ctx context.Context, args []string) (v1beta2.EtcdCluster, error) {
	var c v1beta2.EtcdCluster
	if len(args) > 0 {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: args[0]}, &c); err != nil {
			return c, fmt.Errorf("EtcdCluster %s cannot be read in namespace %s: %w. Nothing was changed. List them: kubectl get etcd --all-namespaces", args[0], w.Namespace, err)
		}
		return c, nil
	}
	var all v1beta2.EtcdClusterList
	if err := w.List(ctx, &all, client.InNamespace(w.Namespace)); err != nil {
		return c, fmt.Errorf("EtcdClusters cannot be listed in namespace %s: %w. Nothing was changed. Check your rights and the CRDs", w.Namespace, err)
	}
	return core.OnlyCluster(w.Namespace, all.Items)
}

// Objects reads what belongs to a cluster. Members are asked only if look is true.
func (w *World) Objects(ctx context.Context, c v1beta2.EtcdCluster, now time.Time, look bool) (observed.Objects, error) {
	o := observed.Objects{Now: now, Cluster: c}
	var backups v1beta2.EtcdBackupList
	if err := w.List(ctx, &backups, client.InNamespace(w.Namespace)); err != nil {
		return o, fmt.Errorf("list EtcdBackups: %w", err)
	}
	var restores v1beta2.EtcdRestoreList
	if err := w.List(ctx, &restores, client.InNamespace(w.Namespace)); err != nil {
		return o, fmt.Errorf("list EtcdRestores: %w", err)
	}
	pods, err := w.Pods(ctx, c.Name)
	if err != nil {
		return o, err
	}
	o.Backups, o.Restores, o.Pods = backups.Items, restores.Items, pods
	o.Nodes = w.lostNodes(ctx, c, pods)
	if look {
		o.Looks, o.Certificates = w.Looks(ctx, c), w.certificates(ctx, c)
	}
	return o, nil
}
