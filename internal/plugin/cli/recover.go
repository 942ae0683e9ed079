package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) recover() *cobra.Command {
	return p.writes(&cobra.Command{
		Use: "recover <cluster>", Short: "Continue a cluster that has lost its quorum from the member with the newest data", Args: cobra.ExactArgs(1), Example: exampleOf("recover"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.apply(c.Context(), args, func(cluster v1beta2.EtcdCluster) (change, error) {
				earlier := cluster.Status.Recovery.DeepCopy()
				return change{
					question: core.RecoverQuestion(cluster),
					set:      core.Recover,
					until:    func(c v1beta2.EtcdCluster) core.Step { return core.FollowRecovery(c, earlier) },
					after:    core.Withdraw,
					remains:  "The consent spec.recovery.quorumLoss: ForceNewCluster remains. When the cluster has recovered, set it to Wait, or the operator does not ask the next time.",
				}, nil
			})
		},
	})
}

func (p *plugin) removeForeign() *cobra.Command {
	return p.writes(&cobra.Command{
		Use: "remove-foreign <cluster> <foreign>", Short: "Remove a member that the operator did not add", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd remove-foreign example 8e9e05c52164694d",
		RunE: func(c *cobra.Command, args []string) error {
			return p.apply(c.Context(), args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: core.ForeignQuestion(cluster, args[1]),
					set:      func(c *v1beta2.EtcdCluster) error { return core.RemoveForeign(c, args[1]) },
					until:    func(c v1beta2.EtcdCluster) core.Step { return core.FollowForeign(c, args[1]) },
					after:    func(c *v1beta2.EtcdCluster) error { return core.ForgetForeign(c, args[1]) },
					remains:  fmt.Sprintf("The annotation %s remains. Remove it when the member is removed.", v1beta2.AnnotationRemoveForeign),
				}, nil
			})
		},
	})
}

func (p *plugin) foreignMembers(c *cobra.Command, args []string) []string {
	_, cluster, err := p.connectTo(c.Context(), args[:1])
	if err != nil {
		return nil
	}
	var ids []string
	for _, m := range cluster.Status.ForeignMembers {
		ids = append(ids, m.ID)
	}
	return ids
}
