package show

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// Logs returns the command logs.
func Logs(p *session.Session) *cobra.Command {
	var since time.Duration
	var newest int64
	var follow bool
	c := &cobra.Command{Use: "logs [cluster]", Short: "Show the logs of all members, merged by time", Args: cobra.MaximumNArgs(1), Example: session.ExampleOf("logs --since 10m --follow")}
	c.Flags().DurationVar(&since, "since", 0, "show only lines that are not older; default: all")
	c.Flags().Int64Var(&newest, "tail", 200, "number of newest lines of each member; -1 for all")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "continue with the lines that are written from now on, until Ctrl-C")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.ConnectTo(c.Context(), args)
		if err != nil {
			return err
		}
		pods, err := w.Pods(c.Context(), cluster.Name)
		if err != nil {
			return err
		}
		if len(pods) == 0 && !follow {
			return p.None("Pod of EtcdCluster "+cluster.Name, core.NoPod(cluster), w)
		}
		printed := tail(w, cluster.Name, p.Out)
		var all [][]core.Line
		for _, pod := range pods {
			text, err := w.Log(c.Context(), pod.Name, since, newest)
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
			printed.Follow(c.Context())
			return fmt.Errorf("the command was interrupted. The members continue")
		}
		return nil
	}
	return c
}

// tail returns a tail of the members of a cluster.
func tail(w *session.World, cluster string, out io.Writer) *Tail {
	return &Tail{
		Out: out, Last: map[string]string{},
		Pods: func(ctx context.Context) ([]string, error) {
			pods, err := w.Pods(ctx, cluster)
			var names []string
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			return names, err
		},
		Open: func(ctx context.Context, pod, since string) (io.ReadCloser, error) {
			options := &corev1.PodLogOptions{Container: "etcd", Timestamps: true, Follow: true}
			if at, err := time.Parse(time.RFC3339Nano, since); err == nil {
				options.SinceTime = new(metav1.NewTime(at))
			}
			return w.Core.CoreV1().Pods(w.Namespace).GetLogs(pod, options).Stream(ctx)
		},
	}
}
