package changes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
)

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
func (s *snapshotFirst) take(p *session.Session) func(context.Context, *session.World, *v1beta2.EtcdCluster) error {
	if !s.wanted && s.backup == "" {
		return nil
	}
	return func(ctx context.Context, w *session.World, c *v1beta2.EtcdCluster) error {
		if err := snapshots.SnapshotNow(ctx, p, w, c.Name, s.backup, true); err != nil {
			return fmt.Errorf("EtcdCluster %s was not changed, and its members run: %w", c.Name, err)
		}
		return w.Get(ctx, client.ObjectKeyFromObject(c), c)
	}
}
