package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) defrag() *cobra.Command {
	c := &cobra.Command{Use: "defrag <cluster>", Short: "Defragment all members now, one at a time and the leader last", Example: exampleOf("defrag"), Args: cobra.ExactArgs(1)}
	c.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask before the change")
	c.Flags().DurationVar(&p.timeout, "timeout", 10*time.Minute, "how long one member may take")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.connectTo(c.Context(), args)
		if err != nil {
			return err
		}
		members, err := core.DefragOrder(cluster)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("The %d members of EtcdCluster %s are defragmented, one at a time. A member does not answer until its defragmentation is done.", len(members), cluster.Name)
		if err := p.confirm(c.Context(), question); err != nil {
			return err
		}
		for i, member := range members {
			if err := p.defragMember(c, w, &cluster, member); err != nil {
				return fmt.Errorf("%w. %d of %d members are defragmented", err, i, len(members))
			}
		}
		fmt.Fprintf(p.Out, "All %d members are defragmented.\n", len(members))
		return nil
	}
	return c
}

// defragMember defragments one member, and waits until all members serve, so that the next one costs no quorum.
func (p *plugin) defragMember(c *cobra.Command, w *world, cluster *v1beta2.EtcdCluster, member string) error {
	pods, err := w.pods(c.Context(), cluster.Name)
	if err != nil {
		return err
	}
	inside, err := core.Ctl(pods, member, []string{"defrag", "--command-timeout=" + p.timeout.String()})
	if err != nil {
		return err
	}
	if err := p.execute(c.Context(), w, inside); err != nil {
		return err
	}
	return p.follow(c.Context(), w, cluster, func() core.Step { return core.FollowServing(*cluster) })
}
