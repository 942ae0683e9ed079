package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (p *plugin) logs() *cobra.Command {
	var since time.Duration
	var newest int64
	var follow bool
	c := &cobra.Command{Use: "logs [cluster]", Short: "Show the logs of all members, merged by time", Args: cobra.MaximumNArgs(1), Example: exampleOf("logs --since 10m --follow")}
	c.Flags().DurationVar(&since, "since", 0, "show only lines that are not older; default: all")
	c.Flags().Int64Var(&newest, "tail", 200, "number of newest lines of each member; -1 for all")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "continue with the lines that are written from now on, until Ctrl-C")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.connectTo(c.Context(), args)
		if err != nil {
			return err
		}
		pods, err := w.pods(c.Context(), cluster.Name)
		if err != nil {
			return err
		}
		if len(pods) == 0 && !follow {
			return p.none("Pod of EtcdCluster "+cluster.Name, core.NoPod(cluster), w)
		}
		printed := w.tail(cluster.Name, p.Out)
		var all [][]core.Line
		for _, pod := range pods {
			text, err := w.log(c.Context(), pod.Name, since, newest)
			if err != nil {
				fmt.Fprintf(p.Err, "The log of %s cannot be read: %v\n", pod.Name, err)
				continue
			}
			all = append(all, core.ParseLog(pod.Name, text))
		}
		for _, line := range core.MergeLogs(all...) {
			printed.print(line)
		}
		if follow {
			printed.follow(c.Context())
			return fmt.Errorf("the command was interrupted. The members continue")
		}
		return nil
	}
	return c
}

// tail returns a tail of the members of a cluster.
func (w *world) tail(cluster string, out io.Writer) *tail {
	return &tail{
		out: out, last: map[string]string{},
		pods: func(ctx context.Context) ([]string, error) {
			pods, err := w.pods(ctx, cluster)
			var names []string
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			return names, err
		},
		open: func(ctx context.Context, pod, since string) (io.ReadCloser, error) {
			options := &corev1.PodLogOptions{Container: "etcd", Timestamps: true, Follow: true}
			if at, err := time.Parse(time.RFC3339Nano, since); err == nil {
				options.SinceTime = new(metav1.NewTime(at))
			}
			return w.core.CoreV1().Pods(w.namespace).GetLogs(pod, options).Stream(ctx)
		},
	}
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
		return p.execute(c.Context(), w, inside)
	}
	return c
}
