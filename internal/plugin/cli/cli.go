// Package cli holds the commands of kubectl etcd. It reads and writes Kubernetes; internal/plugin decides.
package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/exec"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/access"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/changes"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/migrate"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/show"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
)

// New returns the command kubectl-etcd with all of its commands.
func New(streams session.IO, version string) *cobra.Command {
	return command(session.New(streams), version)
}

// Of returns the command with a session that a test has prepared.
func Of(p *session.Session, version string) *cobra.Command { return command(p, version) }

func command(p *session.Session, version string) *cobra.Command {
	root := &cobra.Command{
		Use: "kubectl-etcd", Short: "Show and change etcd clusters", Version: version,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd"},
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&p.Rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig file")
	clientcmd.BindOverrideFlags(p.Overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	root.AddCommand(
		show.Status(p), show.Events(p), show.Logs(p), show.Report(p), show.Explain(p), show.Version(p, version), show.Check(p),
		changes.Upgrade(p), changes.Hibernate(p), changes.Wake(p), changes.Pause(p), changes.Resume(p), changes.Freeze(p), changes.Thaw(p),
		changes.MoveLeader(p), changes.Replace(p), changes.Restart(p), changes.Scale(p), changes.RotateCA(p), changes.Recover(p),
		changes.RemoveForeign(p), changes.Suspend(p), changes.Fence(p), changes.Unfence(p),
		snapshots.Backup(p), snapshots.List(p), snapshots.Restore(p), snapshots.Download(p), snapshots.Import(p, version), migrate.Migrate(p),
		access.Defrag(p), access.Ctl(p), access.Bench(p), access.Env(p), access.PortForward(p), access.Users(p), access.Certificate(p),
	)
	completion{p}.completesConnection(root)
	for _, c := range root.Commands() {
		completion{p}.completes(c)
		c.Args = withUsage(c.Args)
	}
	return root
}

// withUsage adds how the command is written to the error about a wrong number of arguments.
func withUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fmt.Errorf("%w. Nothing was changed. Write it so: kubectl etcd %s", err, c.Use)
		}
		return nil
	}
}

// interrupted is the exit code of shells for a command that Ctrl-C ended: 128 and the number of the signal.
const interrupted = 130

// ExitCode returns the exit code for the result of a command. ctx is cancelled by Ctrl-C.
func ExitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return interrupted
	}
	var inside exec.CodeExitError
	if errors.As(err, &inside) {
		return inside.Code // that of etcdctl
	}
	return 1
}
