package changes

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// Fence returns the command fence.
func Fence(p *session.Session) *cobra.Command {
	return fencing(p, "fence", "Take a member out of the client Service, and do not replace it if it fails",
		"The client Service of EtcdCluster %s no longer selects member %s. The member runs and votes, and the operator does not replace it if it fails.", edit.Ask, true)
}

// Unfence returns the command unfence.
func Unfence(p *session.Session) *cobra.Command {
	return fencing(p, "unfence", "Have the client Service select a fenced member again",
		"The client Service of EtcdCluster %s selects member %s again, and the operator replaces the member if it fails.", edit.Unask, false)
}

// fencing is a command that adds a member to the annotation of fences or removes it, and follows until the operator has read that.
func fencing(p *session.Session, use, short, question string, set func(*v1beta2.EtcdCluster, string, string) error, fenced bool) *cobra.Command {
	place := " <cluster> <member>"
	if !fenced {
		place = " <cluster> <fenced>"
	}
	c := &cobra.Command{
		Use: use + place, Short: short, Args: cobra.ExactArgs(2), Example: session.ExampleOf(use) + " example-4849kfhnfn",
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: fmt.Sprintf(question, cluster.Name, args[1]),
					set:      func(c *v1beta2.EtcdCluster) error { return set(c, v1beta2.AnnotationFence, args[1]) },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowFence(c, args[1], fenced) },
				}, nil
			})
		},
	}
	return p.WritesFor(c, session.AcknowledgeTimeout)
}
