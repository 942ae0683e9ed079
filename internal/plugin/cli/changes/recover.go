package changes

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Recover returns the command recover.
func Recover(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "recover <cluster>", Short: "Continue a cluster that has lost its quorum from the member with the newest data", Args: cobra.ExactArgs(1), Example: session.ExampleOf("recover"),
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				earlier := cluster.Status.Recovery.DeepCopy()
				return change{
					question: edit.RecoverQuestion(cluster),
					set:      edit.Recover,
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowRecovery(c, earlier) },
					after:    edit.Withdraw,
					remains:  "The consent spec.recovery.quorumLoss: ForceNewCluster remains. When the cluster has recovered, set it to Wait, or the operator does not ask the next time.",
				}, nil
			})
		},
	})
}

// RemoveForeign returns the command remove-foreign.
func RemoveForeign(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "remove-foreign <cluster> <foreign>", Short: "Remove a member that the operator did not add", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd remove-foreign example 8e9e05c52164694d",
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: edit.ForeignQuestion(cluster, args[1]),
					set:      func(c *v1beta2.EtcdCluster) error { return edit.RemoveForeign(c, args[1]) },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowForeign(c, args[1]) },
					after:    func(c *v1beta2.EtcdCluster) error { return edit.ForgetForeign(c, args[1]) },
					remains:  fmt.Sprintf("The annotation %s remains. Remove it when the member is removed.", v1beta2.AnnotationRemoveForeign),
				}, nil
			})
		},
	})
}
