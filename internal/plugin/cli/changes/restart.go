package changes

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Restart returns the command restart.
func Restart(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "restart <cluster>", Short: "Restart all members, one at a time and the leader last", Args: cobra.ExactArgs(1), Example: session.ExampleOf("restart"),
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				question := fmt.Sprintf("The %d members of EtcdCluster %s restart, one at a time and the leader last.", cluster.Spec.Size, cluster.Name)
				if cluster.Spec.Pod != nil && cluster.Spec.Pod.EmptyDir != nil {
					question = fmt.Sprintf("The %d members of EtcdCluster %s are replaced, one at a time, because they have no volumes.", cluster.Spec.Size, cluster.Name)
				}
				return change{
					question: question,
					set:      func(c *v1beta2.EtcdCluster) error { edit.Restart(c, p.Now()); return nil },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowCluster(c, "", readyReasons...) },
				}, nil
			})
		},
	})
}

// Scale returns the command scale.
func Scale(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "scale <cluster> <size>", Short: "Change the number of members, one at a time", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd scale example 5",
		RunE: func(c *cobra.Command, args []string) error {
			size, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("the size is %q, and it must be a number. Nothing was changed. Write for example 5", args[1])
			}
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: edit.ScaleQuestion(cluster, size),
					set:      func(c *v1beta2.EtcdCluster) error { return edit.Scale(c, size) },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowCluster(c, "", readyReasons...) },
				}, nil
			})
		},
	})
}

// RotateCA returns the command rotate-ca.
func RotateCA(p *session.Session) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate-ca <cluster>", Short: "Replace the certificate authority that the operator manages", Args: cobra.ExactArgs(1), Example: session.ExampleOf("rotate-ca"),
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: fmt.Sprintf("EtcdCluster %s gets another certificate authority. Its members restart one by one, twice. Clients must load the new CA within spec.TLS.managed.caOverlap.", cluster.Name),
					set:      func(c *v1beta2.EtcdCluster) error { return edit.RotateCA(c, p.Now()) },
					until:    edit.FollowRotation,
				}, nil
			})
		},
	}
	return p.WritesFor(c, session.AcknowledgeTimeout)
}
