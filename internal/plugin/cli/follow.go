package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

const followInterval = time.Second

// follow reads object until its work ends, and prints each step. On a terminal a step replaces the one before.
func (p *plugin) follow(ctx context.Context, w *world, object client.Object, look func() core.Step) error {
	var last core.Step
	err := wait.PollUntilContextTimeout(ctx, followInterval, p.timeout, true, func(ctx context.Context) (bool, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, client.IgnoreNotFound(err) // the next read may find it
		}
		step := look()
		if step.Line != last.Line {
			p.step(step.Line)
		}
		last = step
		return step.Done, nil
	})
	if p.Terminal && last.Line != "" {
		fmt.Fprintln(p.Out)
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the command was interrupted. The change is made, and the operator continues. See kubectl etcd status")
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the change can no longer be followed: %w. The operator continues. See kubectl etcd status", err)
	case err != nil:
		return fmt.Errorf("the change did not end within %s: %s. The operator continues. See kubectl etcd status", p.timeout, last.Line)
	case last.Failed:
		return fmt.Errorf("%s. The work stopped. See kubectl etcd status", last.Line)
	}
	return nil
}

func (p *plugin) step(line string) {
	if p.Terminal {
		fmt.Fprint(p.raw.Out, "\r\x1b[K")
		fmt.Fprint(p.Out, line)
		return
	}
	fmt.Fprintln(p.Out, line)
}
