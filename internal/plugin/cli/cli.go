// Package cli holds the commands of kubectl etcd. It reads and writes Kubernetes; internal/plugin decides.
package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/tools/clientcmd"
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
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
	output    string
	yes       bool
	wait      bool
	timeout   time.Duration
}

// New returns the command kubectl-etcd with all of its commands.
func New(streams IO, version string) *cobra.Command {
	p := &plugin{IO: streams, rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
	root := &cobra.Command{
		Use: "kubectl-etcd", Short: "Show and steer etcd clusters", Version: version,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd"},
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&p.rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig file")
	clientcmd.BindOverrideFlags(p.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	root.AddCommand(p.status(), p.backup(), p.snapshots(), p.restore(), p.upgrade(), p.hibernate(), p.wake(), p.pause(), p.resume(),
		p.moveLeader(), p.replace(), p.events(), p.logs(), p.ctl(), p.report())
	return root
}

// writes adds the flags of commands that change something.
func (p *plugin) writes(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask before the change")
	c.Flags().BoolVar(&p.wait, "wait", true, "follow the change until it ends")
	c.Flags().DurationVar(&p.timeout, "timeout", 30*time.Minute, "how long to follow the change")
	return c
}

func (p *plugin) formats(c *cobra.Command, formats string) *cobra.Command {
	c.Flags().StringVarP(&p.output, "output", "o", "", "output format: "+formats)
	return c
}

// confirm asks on a terminal. Without a terminal and without --yes it refuses.
func (p *plugin) confirm(question string) error {
	if p.yes {
		return nil
	}
	if !p.Terminal {
		return fmt.Errorf("%s Standard input is no terminal, so the command cannot ask. Nothing was changed. Run the command again with --yes", question)
	}
	fmt.Fprintf(p.Out, "%s Write yes to continue: ", question)
	answer, err := bufio.NewReader(p.In).ReadString('\n')
	if err != nil && answer == "" {
		return fmt.Errorf("the answer could not be read: %w. Nothing was changed. Run the command again with --yes", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("the answer was not yes. Nothing was changed. Run the command again to continue")
	}
	return nil
}
