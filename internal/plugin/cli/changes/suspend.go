package changes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Suspend returns the command suspend.
func Suspend(p *session.Session) *cobra.Command {
	c := &cobra.Command{
		Use: "suspend <backup>", Short: "Take no scheduled snapshots until kubectl etcd resume --backup", Args: cobra.ExactArgs(1), Example: "  kubectl etcd suspend hourly",
		RunE: func(c *cobra.Command, args []string) error {
			question := fmt.Sprintf("EtcdBackup %s takes no scheduled snapshots. If the cluster is lost then, all that was written since the newest snapshot is lost.", args[0])
			return suspending(c.Context(), p, args[0], question, true)
		},
	}
	return p.WritesFor(c, session.AcknowledgeTimeout)
}

// suspending sets spec.backupPolicy.suspend of a series, and follows until backup-operator has read it.
func suspending(ctx context.Context, p *session.Session, name, question string, suspend bool) error {
	w, err := p.Connect()
	if err != nil {
		return err
	}
	b := &v1beta2.EtcdBackup{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, b); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be read in namespace %s: %w. Nothing was changed. List them: kubectl get etcdbackups", name, w.Namespace, err)
	}
	before := b.DeepCopy()
	if err := edit.Suspend(b, suspend); err != nil {
		return err
	}
	if err := p.Confirm(ctx, question); err != nil {
		return err
	}
	if err := w.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be changed: %w. Nothing was changed. Correct the cause and run the command again", name, err)
	}
	fmt.Fprintf(p.Out, "EtcdBackup %s is changed.\n", name)
	if !p.Wait {
		return nil
	}
	return p.Follow(ctx, w, b, func() edit.Step { return edit.FollowSuspended(*b, suspend) })
}
