package show

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// overview lists the clusters of all namespaces, those with a problem first.
func overview(ctx context.Context, p *session.Session, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--all-namespaces lists all clusters, so it cannot have the name %s. Remove one of the two", args[0])
	}
	w, err := p.Connect()
	if err != nil {
		return err
	}
	reports, err := reports(ctx, w, p.Now())
	if err != nil {
		return err
	}
	if done, err := p.Print(reports); done {
		return err
	}
	if len(reports) == 0 {
		return p.None("EtcdCluster", core.FirstCluster(), w)
	}
	return findings.Overview(p.Out, reports, terminal.Style{Color: p.Color, Wide: p.Output == "wide"})
}

// reports returns the report of each cluster. Members are not asked: hundreds of clusters would take minutes.
func reports(ctx context.Context, w *session.World, now time.Time) ([]findings.Status, error) {
	var clusters v1beta2.EtcdClusterList
	var backups v1beta2.EtcdBackupList
	var restores v1beta2.EtcdRestoreList
	for what, list := range map[string]client.ObjectList{"EtcdClusters": &clusters, "EtcdBackups": &backups, "EtcdRestores": &restores} {
		if err := w.List(ctx, list); err != nil {
			return nil, fmt.Errorf("%s of all namespaces cannot be listed: %w. Nothing was changed. Ask for the right to list them, or name a namespace with -n", what, err)
		}
	}
	reports := []findings.Status{}
	for _, c := range clusters.Items {
		reports = append(reports, findings.Inspect(observed.Objects{
			Now: now, Cluster: c,
			Backups:  slices.DeleteFunc(slices.Clone(backups.Items), func(b v1beta2.EtcdBackup) bool { return b.Namespace != c.Namespace }),
			Restores: slices.DeleteFunc(slices.Clone(restores.Items), func(r v1beta2.EtcdRestore) bool { return r.Namespace != c.Namespace }),
			NoPods:   true,
		}))
	}
	slices.SortStableFunc(reports, func(a, b findings.Status) int {
		return cmp.Or(a.Worst()-b.Worst(), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	return reports, nil
}
