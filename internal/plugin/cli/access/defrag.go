package access

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Defrag returns the command defrag.
func Defrag(p *session.Session) *cobra.Command {
	c := &cobra.Command{Use: "defrag <cluster>", Short: "Defragment all members now, one at a time and the leader last", Example: session.ExampleOf("defrag"), Args: cobra.ExactArgs(1)}
	c.Flags().BoolVarP(&p.Yes, "yes", "y", false, "do not ask before the change")
	c.Flags().DurationVar(&p.Timeout, "timeout", 10*time.Minute, "how long one member may take")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.ConnectTo(c.Context(), args)
		if err != nil {
			return err
		}
		members, err := edit.DefragOrder(cluster)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("The %d members of EtcdCluster %s are defragmented, one at a time. A member does not answer until its defragmentation is done.", len(members), cluster.Name)
		if err := p.Confirm(c.Context(), question); err != nil {
			return err
		}
		for i, member := range members {
			if err := defragMember(p, c, w, &cluster, member); err != nil {
				return fmt.Errorf("%w. %d of %d members are defragmented", err, i, len(members))
			}
		}
		fmt.Fprintf(p.Out, "All %d members are defragmented.\n", len(members))
		return nil
	}
	return c
}

// defragMember defragments one member, and waits until all members serve, so that the next one costs no quorum.
func defragMember(p *session.Session, c *cobra.Command, w *session.World, cluster *v1beta2.EtcdCluster, member string) error {
	if err := ctlOfOperators(c.Context(), p, w, target{cluster: *cluster, pod: member}, p.ExecuteUnattended, []string{"defrag", "--command-timeout=" + p.Timeout.String()}); err != nil {
		return err
	}
	return p.Follow(c.Context(), w, cluster, func() edit.Step { return edit.FollowServing(*cluster) })
}
