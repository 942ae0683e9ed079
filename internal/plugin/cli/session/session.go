package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// ExampleOf returns the example of a command whose only argument is a cluster.
func ExampleOf(use string) string { return "  kubectl etcd " + use + " example" }

// AcknowledgeTimeout is how long pause and resume wait by default. The operator reads a change within seconds.
const AcknowledgeTimeout = time.Minute

// Session is what all commands share.
type Session struct {
	IO
	// raw is Out and Err without the filter, for the program's own codes and for kubectl exec.
	Raw       IO
	Rules     *clientcmd.ClientConfigLoadingRules
	Overrides *clientcmd.ConfigOverrides
	Output    string
	Yes       bool
	Wait      bool
	Timeout   time.Duration
	// everywhere means that a list has the objects of all namespaces.
	Everywhere bool
	// known is the Kubernetes of a test, and open opens its stores.
	Known *World
	Open  func(context.Context, connect.Access) (objstore.Store, error)
	// Reach returns the address of a member of a test, in place of a tunnel through the API server.
	Reach func(corev1.Pod) string
}

// New returns a session with these streams. It connects when a command asks for Kubernetes.
func New(streams IO) *Session {
	raw := streams
	streams.Out, streams.Err = terminal.Printable(raw.Out), terminal.Printable(raw.Err)
	return &Session{IO: streams, Raw: raw, Rules: clientcmd.NewDefaultClientConfigLoadingRules(), Overrides: &clientcmd.ConfigOverrides{}}
}

// Writes adds the flags of commands that change something.
func (p *Session) Writes(c *cobra.Command) *cobra.Command { return p.WritesFor(c, 30*time.Minute) }

// WritesFor is writes with a default of --timeout.
func (p *Session) WritesFor(c *cobra.Command, timeout time.Duration) *cobra.Command {
	c.Flags().BoolVarP(&p.Yes, "yes", "y", false, "do not ask before the change")
	c.Flags().BoolVar(&p.Wait, "wait", true, "follow the change until it ends")
	c.Flags().DurationVar(&p.Timeout, "timeout", timeout, "how long to follow the change")
	return c
}

// Lists adds the flag of commands that can list the objects of all namespaces.
func (p *Session) Lists(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVarP(&p.Everywhere, "all-namespaces", "A", false, "list the objects of all namespaces")
	return c
}

// None reports that a list is empty, and what the user can do. It is no part of the output, so that scripts read an empty list.
func (p *Session) None(what, remedy string, w *World) error {
	where := "in namespace " + w.Namespace
	if p.Everywhere {
		where = "in any namespace"
	}
	_, err := fmt.Fprintln(p.Err, terminal.Wrap(fmt.Sprintf("There is no %s %s. %s", what, where, remedy), p.Width, 0))
	return err
}

func (p *Session) Formats(c *cobra.Command, formats string) *cobra.Command {
	c.Flags().StringVarP(&p.Output, "output", "o", "", "output format: "+formats)
	return c
}

// Print writes a value as JSON or YAML if the user asks for that.
func (p *Session) Print(value any) (done bool, err error) {
	switch p.Output {
	case "json":
		encoder := json.NewEncoder(p.Out)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(value)
	case "yaml":
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = p.Out.Write(text)
		}
		return true, err
	case "", "wide":
		return false, nil
	}
	return true, fmt.Errorf("output format %q does not exist. Nothing is shown. Write json, yaml or wide", p.Output)
}

// NameOf returns what a list is of: "snapshot of EtcdCluster example".
func NameOf(what string, args []string) string {
	if len(args) == 0 {
		return what
	}
	return what + " of EtcdCluster " + args[0]
}
