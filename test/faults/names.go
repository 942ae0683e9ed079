package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A Where is a cluster in a Kubernetes.
type Where struct {
	Config    *rest.Config
	Namespace string
	Cluster   string
}

// Names returns no error if kubectl etcd status names the cause in its first line and the remedy in its third. It runs the code
// of the plugin. With RECORD_FAULTS it then records what the plugin has read.
func (w Where) Names(ctx context.Context, fault, cause, remedy string) error {
	if !slices.ContainsFunc(All, func(f Fault) bool { return f.Name == fault }) {
		return fmt.Errorf("test/faults has no fault %q", fault)
	}
	objects, err := session.Read(ctx, w.Config, w.Namespace, w.Cluster, time.Now())
	if err != nil {
		return err
	}
	lines, err := firstThree(objects)
	if err != nil {
		return err
	}
	if !strings.Contains(lines[0], cause) || !strings.Contains(lines[2], remedy) {
		return fmt.Errorf("the first line must contain %q, and the third %q. They are:\n%s", cause, remedy, strings.Join(lines, "\n"))
	}
	return record(fault, w.Namespace, objects)
}

// firstThree returns the first three lines of what status prints.
func firstThree(o observed.Objects) ([]string, error) {
	var screen strings.Builder
	if err := findings.Inspect(o).Render(&screen, terminal.Style{}); err != nil {
		return nil, err
	}
	return strings.SplitN(screen.String(), "\n", 4)[:3], nil
}
