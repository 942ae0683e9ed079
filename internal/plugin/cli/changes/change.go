package changes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A change of an EtcdCluster: what to ask, what to set, and what to follow.
type change struct {
	question string
	// first does what comes before the change, and reads the EtcdCluster again; may be nil.
	first func(context.Context, *session.World, *v1beta2.EtcdCluster) error
	set   func(*v1beta2.EtcdCluster) error
	until func(v1beta2.EtcdCluster) edit.Step
	// after removes what the change needed only until it was done; may be nil.
	after func(*v1beta2.EtcdCluster) error
	// remains names what after removes. It is shown if the command does not wait so long.
	remains string
}

// apply asks, patches the EtcdCluster, and follows. The patch fails if somebody else changed the object in between.
func apply(ctx context.Context, p *session.Session, args []string, plan func(v1beta2.EtcdCluster) (change, error)) error {
	w, c, err := p.ConnectTo(ctx, args)
	if err != nil {
		return err
	}
	wanted, err := plan(c)
	if err != nil {
		return err
	}
	if err := wanted.set(c.DeepCopy()); err != nil {
		return err
	}
	if err := p.Confirm(ctx, wanted.question); err != nil {
		return err
	}
	if wanted.first != nil {
		if err := wanted.first(ctx, w, &c); err != nil {
			return err
		}
	}
	before := c.DeepCopy()
	if err := wanted.set(&c); err != nil {
		return err
	}
	if err := w.Patch(ctx, &c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("EtcdCluster %s cannot be changed: %w. Nothing was changed. Correct the cause and run the command again", c.Name, err)
	}
	fmt.Fprintf(p.Out, "EtcdCluster %s is changed.\n", c.Name)
	if p.Wait {
		err = p.Follow(ctx, w, &c, func() edit.Step { return wanted.until(c) })
	}
	if wanted.after == nil {
		return err
	}
	if err != nil || !p.Wait {
		fmt.Fprintln(p.Out, terminal.Wrap(wanted.remains, p.Width, 0))
		return err
	}
	return cleanUp(ctx, w, &c, wanted)
}

// cleanUp removes what the change needed only until it was done.
func cleanUp(ctx context.Context, w *session.World, c *v1beta2.EtcdCluster, wanted change) error {
	before := c.DeepCopy()
	err := wanted.after(c)
	if err == nil {
		err = w.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("the change is done, and EtcdCluster %s cannot be changed again: %w. %s", c.Name, err, wanted.remains)
	}
	return nil
}

// setting is a command that sets a field and follows until Ready has one of the reasons.
func setting(p *session.Session, use, short, question string, set func(*v1beta2.EtcdCluster) error, reasons ...string) *cobra.Command {
	return p.Writes(&cobra.Command{Use: use + " <cluster>", Short: short, Example: session.ExampleOf(use), Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
			until := func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowCluster(c, "", reasons...) }
			return change{question: fmt.Sprintf(question, cluster.Name), set: set, until: until}, nil
		})
	}})
}

// readyReasons are those of a cluster that is as its spec asks, some with a warning.
var readyReasons = []string{
	v1beta2.ReasonReady, v1beta2.ReasonVersionNotAdvised, v1beta2.ReasonSettingIgnored, v1beta2.ReasonVolumeMayFill, v1beta2.ReasonCertificateLacksName, v1beta2.ReasonIssuerNotAllowed,
	v1beta2.ReasonReadOnly,
}

// Wake returns the command wake.
func Wake(p *session.Session) *cobra.Command {
	return setting(p, "wake", "Start the members of a hibernated cluster", "The members of EtcdCluster %s start with their data.",
		func(c *v1beta2.EtcdCluster) error { c.Spec.Hibernate = false; return nil }, readyReasons...)
}

// Pause returns the command pause.
func Pause(p *session.Session) *cobra.Command {
	return pausing(p, "pause", "Stop the operator from changing a cluster", "The operator no longer heals EtcdCluster %s.", true)
}

// Resume returns the command resume.
func Resume(p *session.Session) *cobra.Command {
	c := pausing(p, "resume", "Let the operator change a paused cluster again, or continue a suspended series", "The operator heals and changes EtcdCluster %s again.", false)
	c.Use, c.Args, c.Example = "resume [cluster]", cobra.MaximumNArgs(1), "  kubectl etcd resume example\n  kubectl etcd resume --backup hourly"
	var backup string
	c.Flags().StringVar(&backup, "backup", "", "EtcdBackup whose schedule continues, instead of a cluster")
	cluster := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case backup == "" && len(args) == 1:
			return cluster(c, args)
		case backup != "" && len(args) == 0:
			return suspending(c.Context(), p, backup, fmt.Sprintf("EtcdBackup %s takes scheduled snapshots again.", backup), false)
		}
		return fmt.Errorf("name either a cluster or --backup. Nothing was changed")
	}
	return c
}

// pausing is a command that sets spec.paused and follows until the operator has acknowledged it.
func pausing(p *session.Session, use, short, question string, paused bool) *cobra.Command {
	c := &cobra.Command{Use: use + " <cluster>", Short: short, Example: session.ExampleOf(use), Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
			return change{
				question: fmt.Sprintf(question, cluster.Name),
				set:      func(c *v1beta2.EtcdCluster) error { c.Spec.Paused = paused; return nil },
				until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowPaused(c, paused) },
			}, nil
		})
	}}
	return p.WritesFor(c, session.AcknowledgeTimeout)
}

// Freeze returns the command freeze.
func Freeze(p *session.Session) *cobra.Command {
	return freezing(p, "freeze", "Refuse all writes of clients, and serve reads", "etcd refuses all writes to EtcdCluster %s. Reads are served.", true)
}

// Thaw returns the command thaw.
func Thaw(p *session.Session) *cobra.Command {
	return freezing(p, "thaw", "Accept writes of clients again", "EtcdCluster %s accepts writes again.", false)
}

// freezing is a command that sets spec.readOnly and follows until etcd refuses writes, or accepts them again.
func freezing(p *session.Session, use, short, question string, readOnly bool) *cobra.Command {
	c := &cobra.Command{Use: use + " <cluster>", Short: short, Example: session.ExampleOf(use), Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
			return change{
				question: fmt.Sprintf(question, cluster.Name),
				set:      func(c *v1beta2.EtcdCluster) error { c.Spec.ReadOnly = readOnly; return nil },
				until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowReadOnly(c, readOnly) },
			}, nil
		})
	}}
	return p.WritesFor(c, session.AcknowledgeTimeout)
}

// Upgrade returns the command upgrade.
func Upgrade(p *session.Session) *cobra.Command {
	var first snapshotFirst
	c := &cobra.Command{
		Use: "upgrade <cluster> <version>", Short: "Change the version of etcd, if the operator accepts the path", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd upgrade example 3.7.3 --snapshot",
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				set := func(c *v1beta2.EtcdCluster) error { return edit.Upgrade(c, args[1]) }
				changed := cluster.DeepCopy()
				if err := set(changed); err != nil {
					return change{}, err
				}
				version := changed.Spec.EtcdVersion()
				return change{
					question: fmt.Sprintf("EtcdCluster %s changes from etcd %s to %s. Its members restart one by one.%s", cluster.Name, cluster.Status.CurrentVersion, version, first.advice()),
					first:    first.take(p),
					set:      set,
					until: func(c v1beta2.EtcdCluster) edit.Step {
						return edit.FollowCluster(c, version, readyReasons...)
					},
				}, nil
			})
		},
	}
	first.bind(c, "change the version")
	return p.Writes(c)
}

// MoveLeader returns the command move-leader.
func MoveLeader(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "move-leader <cluster> [member]", Short: "Hand leadership of a member, or of the present leader, to another one", Args: cobra.RangeArgs(1, 2),
		Example: "  kubectl etcd move-leader example\n  kubectl etcd move-leader example example-4849kfhnfn",
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				member := edit.Leader(cluster)
				if len(args) > 1 {
					member = args[1]
				}
				if member == "" {
					return change{}, fmt.Errorf("EtcdCluster %s reports no leader. Nothing was changed. See kubectl etcd status %s", cluster.Name, cluster.Name)
				}
				return change{
					question: fmt.Sprintf("Member %s of EtcdCluster %s is asked not to lead.", member, cluster.Name),
					set:      func(c *v1beta2.EtcdCluster) error { return edit.Ask(c, v1beta2.AnnotationMoveLeader, member) },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowLeader(c, member) },
				}, nil
			})
		},
	})
}

// Replace returns the command replace.
func Replace(p *session.Session) *cobra.Command {
	return p.Writes(&cobra.Command{
		Use: "replace <cluster> <member>", Short: "Add a member, then remove the named one with its volume", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd replace example example-4849kfhnfn",
		RunE: func(c *cobra.Command, args []string) error {
			return apply(c.Context(), p, args, func(cluster v1beta2.EtcdCluster) (change, error) {
				return change{
					question: fmt.Sprintf("Member %s of EtcdCluster %s is removed with its volume, after a new member has its data.", args[1], cluster.Name),
					set:      func(c *v1beta2.EtcdCluster) error { return edit.Ask(c, v1beta2.AnnotationReplace, args[1]) },
					until:    func(c v1beta2.EtcdCluster) edit.Step { return edit.FollowReplace(c, args[1]) },
				}, nil
			})
		},
	})
}
