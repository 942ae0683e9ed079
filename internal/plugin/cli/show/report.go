package show

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// Report returns the command report.
func Report(p *session.Session) *cobra.Command {
	var path string
	c := &cobra.Command{Use: "report [cluster]", Short: "Write a bundle for a report of a problem, without Secrets", Args: cobra.MaximumNArgs(1), Example: session.ExampleOf("report --file example-report.tar.gz")}
	c.Flags().StringVarP(&path, "file", "f", "", "file to write; default: <cluster>-report.tar.gz")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, cluster, err := p.ConnectTo(c.Context(), args)
		if err != nil {
			return err
		}
		if path == "" {
			path = cluster.Name + "-report.tar.gz"
		}
		files, err := bundle(c.Context(), w, cluster, p.Now())
		if err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("the report cannot be written: %w. Nothing was written. Choose another file with --file", err)
		}
		if err := core.WriteBundle(out, files, p.Now()); err != nil {
			out.Close()
			return err
		}
		if err := out.Close(); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		fmt.Fprintf(p.Out, "%s has %d files. It has no Secrets, and no keys or values of etcd. Read it before you share it.\n", path, len(files))
		return nil
	}
	return c
}

// bundle reads all that a report contains. Secrets are not read.
func bundle(ctx context.Context, w *session.World, c v1beta2.EtcdCluster, now time.Time) ([]core.File, error) {
	o, err := w.Objects(ctx, c, now, false)
	if err != nil {
		return nil, err
	}
	o.Looks = w.Looks(ctx, c)
	events, err := w.EventsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	var files []core.File
	for name, value := range map[string]any{
		"status.yaml": findings.Inspect(o), "cluster.yaml": c, "backups.yaml": observed.BackupsOf(c.Name, o.Backups),
		"restores.yaml": observed.RestoresOf(c.Name, o.Restores), "pods.yaml": o.Pods, "events.yaml": events,
	} {
		text, err := redacted(value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files = append(files, core.File{Name: name, Content: text})
	}
	for _, pod := range o.Pods {
		text, err := w.Log(ctx, pod.Name, 0, reportedLines)
		if err != nil {
			text = err.Error() + "\n"
		}
		files = append(files, core.File{Name: "logs/" + pod.Name + ".log", Content: []byte(core.RedactText(text))})
	}
	return append(files, operatorLogs(ctx, w, c)...), nil
}

// reportedLines is how many of the newest lines of a log a report has.
const reportedLines = 5000

// operatorLogs reads the logs of the operators, without the lines about objects of other namespaces.
// A user without the right gets the reason as a file, so that the reader of the report asks for the logs.
func operatorLogs(ctx context.Context, w *session.World, c v1beta2.EtcdCluster) []core.File {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.MatchingLabels{operatorLabel: operatorName}); err != nil {
		return []core.File{{Name: "operators/unreadable.txt", Content: []byte("The Pods of the operators cannot be listed: " + err.Error() + "\n")}}
	}
	var files []core.File
	for _, pod := range pods.Items {
		options := &corev1.PodLogOptions{Timestamps: true, TailLines: new(int64(reportedLines))}
		raw, err := w.Core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
		if err != nil {
			raw = []byte(err.Error() + "\n")
		}
		text := core.RedactText(core.LinesAbout(string(raw), c.Namespace))
		files = append(files, core.File{Name: "operators/" + pod.Name + ".log", Content: []byte(text)})
	}
	return files
}

// The label of the Pods of the operators, as the chart sets it.
const (
	operatorLabel = "app.kubernetes.io/name"
	operatorName  = "etcd-operator"
)

func redacted(value any) ([]byte, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	var loose any
	if err := yaml.Unmarshal(text, &loose); err != nil {
		return nil, err
	}
	return yaml.Marshal(core.Redact(loose))
}
