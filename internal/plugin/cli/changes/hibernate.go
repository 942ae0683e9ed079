package changes

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Hibernate returns the command hibernate.
func Hibernate(p *session.Session) *cobra.Command {
	var first snapshotFirst
	c := &cobra.Command{Use: "hibernate <cluster>", Short: "Stop all members and keep their volumes", Args: cobra.ExactArgs(1), Example: session.ExampleOf("hibernate --snapshot")}
	first.bind(c, "stop the members")
	c.RunE = func(c *cobra.Command, args []string) error {
		return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
			return change{
				question: fmt.Sprintf("All members of EtcdCluster %s stop, and clients are not served.", cluster.Name),
				first:    first.take(p),
				set:      func(c *v1beta2.EtcdCluster) error { c.Spec.Hibernate = true; return nil },
				until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowCluster(c, "", v1beta2.ReasonHibernated) },
			}, nil
		})
	}
	return p.Writes(c)
}
