// Package cli holds the commands of kubectl etcd. It reads and writes Kubernetes; internal/plugin decides.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/exec"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// IO is what a command reads and writes.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Terminal means that a person can answer a question and that lines can be rewritten.
	Terminal bool
	Color    bool
	// Width is the length at which lines of text are wrapped. The value 0 wraps none.
	Width int
	Now   func() time.Time
}

// The width of text. A very long line is hard to read, even on a terminal that has the room.
const (
	defaultWidth = 100
	leastWidth   = 60
	mostWidth    = 120
)

// System returns the standard streams. There is colour only on a terminal, and none if NO_COLOR is set.
func System() IO {
	terminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: terminal, Color: color, Width: width(), Now: time.Now}
}

func width() int {
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns == 0 {
		return defaultWidth
	}
	return min(max(columns, leastWidth), mostWidth)
}

// plugin is what all commands share.
type plugin struct {
	IO
	// raw is Out and Err without the filter, for the program's own codes and for kubectl exec.
	raw       IO
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
	output    string
	yes       bool
	wait      bool
	timeout   time.Duration
	// everywhere means that a list has the objects of all namespaces.
	everywhere bool
	// known is the Kubernetes of a test, and open opens its stores.
	known *world
	open  func(context.Context, connect.Access) (objstore.Store, error)
}

// New returns the command kubectl-etcd with all of its commands.
func New(streams IO, version string) *cobra.Command {
	return newPlugin(streams).command(version)
}

func newPlugin(streams IO) *plugin {
	raw := streams
	streams.Out, streams.Err = core.Printable(raw.Out), core.Printable(raw.Err)
	return &plugin{IO: streams, raw: raw, rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
}

func (p *plugin) command(version string) *cobra.Command {
	root := &cobra.Command{
		Use: "kubectl-etcd", Short: "Show and change etcd clusters", Version: version,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd"},
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&p.rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig file")
	clientcmd.BindOverrideFlags(p.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	root.AddCommand(p.status(), p.backup(), p.snapshots(), p.restore(), p.upgrade(), p.hibernate(), p.wake(), p.pause(), p.resume(), p.freeze(), p.thaw(),
		p.moveLeader(), p.replace(), p.defrag(), p.events(), p.logs(), p.ctl(), p.report(), p.explain(), p.version(version),
		p.restart(), p.scale(), p.rotateCA(), p.recover(), p.removeForeign(), p.suspend(), p.bench(), p.env(), p.portForward(), p.check(),
		p.fence(), p.unfence(), p.userList(), p.certificate(), p.download(), p.imports(version))
	p.completesConnection(root)
	for _, c := range root.Commands() {
		p.completes(c)
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

// writes adds the flags of commands that change something.
func (p *plugin) writes(c *cobra.Command) *cobra.Command { return p.writesFor(c, 30*time.Minute) }

// writesFor is writes with a default of --timeout.
func (p *plugin) writesFor(c *cobra.Command, timeout time.Duration) *cobra.Command {
	c.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask before the change")
	c.Flags().BoolVar(&p.wait, "wait", true, "follow the change until it ends")
	c.Flags().DurationVar(&p.timeout, "timeout", timeout, "how long to follow the change")
	return c
}

// lists adds the flag of commands that can list the objects of all namespaces.
func (p *plugin) lists(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVarP(&p.everywhere, "all-namespaces", "A", false, "list the objects of all namespaces")
	return c
}

// none reports that a list is empty, and what the user can do. It is no part of the output, so that scripts read an empty list.
func (p *plugin) none(what, remedy string, w *world) error {
	where := "in namespace " + w.namespace
	if p.everywhere {
		where = "in any namespace"
	}
	_, err := fmt.Fprintln(p.Err, core.Wrap(fmt.Sprintf("There is no %s %s. %s", what, where, remedy), p.Width, 0))
	return err
}

func (p *plugin) formats(c *cobra.Command, formats string) *cobra.Command {
	c.Flags().StringVarP(&p.output, "output", "o", "", "output format: "+formats)
	return c
}
