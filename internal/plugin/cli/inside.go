package cli

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) logs() *cobra.Command {
	var since time.Duration
	var tail int64
	c := &cobra.Command{Use: "logs [cluster]", Short: "Show the logs of all members, merged by time", Args: cobra.MaximumNArgs(1)}
	c.Flags().DurationVar(&since, "since", 0, "show only lines that are not older; default: all")
	c.Flags().Int64Var(&tail, "tail", 200, "number of newest lines of each member; -1 for all")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.connectTo(c.Context(), args)
		if err != nil {
			return err
		}
		pods, err := w.pods(c.Context(), cluster.Name)
		if err != nil {
			return err
		}
		var all [][]core.Line
		for _, pod := range pods {
			text, err := w.log(c.Context(), pod.Name, since, tail)
			if err != nil {
				fmt.Fprintf(p.Err, "The log of %s cannot be read: %v\n", pod.Name, err)
				continue
			}
			all = append(all, core.ParseLog(pod.Name, text))
		}
		for _, line := range core.MergeLogs(all...) {
			fmt.Fprintf(p.Out, "%s %s %s\n", line.Member, line.Time, line.Text)
		}
		return nil
	}
	return c
}

func (w *world) log(ctx context.Context, pod string, since time.Duration, tail int64) (string, error) {
	options := &corev1.PodLogOptions{Container: "etcd", Timestamps: true}
	if tail >= 0 {
		options.TailLines = &tail
	}
	if seconds := int64(since.Seconds()); seconds > 0 {
		options.SinceSeconds = &seconds
	}
	raw, err := w.core.CoreV1().Pods(w.namespace).GetLogs(pod, options).DoRaw(ctx)
	return string(raw), err
}

func (w *world) eventsOf(ctx context.Context, c v1beta2.EtcdCluster) ([]corev1.Event, error) {
	o, err := w.objects(ctx, c, time.Time{}, false)
	if err != nil {
		return nil, err
	}
	var all corev1.EventList
	if err := w.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return core.EventsOf(core.Named(o), all.Items), nil
}

func (p *plugin) ctl() *cobra.Command {
	var member string
	c := &cobra.Command{
		Use: "ctl <cluster> -- <arguments of etcdctl>", Short: "Run etcdctl in a member's Pod, with the member's certificate", Args: cobra.MinimumNArgs(2),
		Example: "  kubectl etcd ctl example -- get --prefix /registry --keys-only",
	}
	c.Flags().StringVar(&member, "member", "", "member in whose Pod etcdctl runs; default: one that is ready")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := p.connect()
		if err != nil {
			return err
		}
		pods, err := w.pods(c.Context(), args[0])
		if err != nil {
			return err
		}
		inside, err := core.Ctl(pods, member, args[1:])
		if err != nil {
			return err
		}
		outside := []string{"exec", "--stdin", "--namespace", w.namespace}
		if p.Terminal {
			outside = append(outside, "--tty")
		}
		if p.rules.ExplicitPath != "" {
			outside = append(outside, "--kubeconfig", p.rules.ExplicitPath)
		}
		if p.overrides.CurrentContext != "" {
			outside = append(outside, "--context", p.overrides.CurrentContext)
		}
		run := exec.CommandContext(c.Context(), "kubectl", append(outside, inside...)...)
		run.Stdin, run.Stdout, run.Stderr = p.In, p.Out, p.Err
		if err := run.Run(); err != nil {
			return fmt.Errorf("kubectl %s: %w. What etcdctl did before, if anything, remains. Its own message is above", strings.Join(inside[:1], " "), err)
		}
		return nil
	}
	return c
}
