// Package cli holds the commands of kubectl etcd. It reads and writes Kubernetes; internal/plugin decides.
package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/tools/clientcmd"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

// IO is what a command reads and writes.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Terminal means that a person can answer a question and that lines can be rewritten.
	Terminal bool
	Color    bool
	Now      func() time.Time
}

// System returns the standard streams. There is colour only on a terminal, and none if NO_COLOR is set.
func System() IO {
	terminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: terminal, Color: color, Now: time.Now}
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
}

// New returns the command kubectl-etcd with all of its commands.
func New(streams IO, version string) *cobra.Command {
	raw := streams
	streams.Out, streams.Err = core.Printable(raw.Out), core.Printable(raw.Err)
	p := &plugin{IO: streams, raw: raw, rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
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
		p.moveLeader(), p.replace(), p.defrag(), p.events(), p.logs(), p.ctl(), p.report())
	return root
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

func (p *plugin) formats(c *cobra.Command, formats string) *cobra.Command {
	c.Flags().StringVarP(&p.output, "output", "o", "", "output format: "+formats)
	return c
}
