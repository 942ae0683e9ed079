package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// FollowInterval is the time between two readings of an object that a command follows.
const FollowInterval = time.Second

// Follow reads object until its work ends, and prints each step. On a terminal a step replaces the one before.
func (p *Session) Follow(ctx context.Context, w *World, object client.Object, look func() edit.Step) error {
	var last edit.Step
	err := wait.PollUntilContextTimeout(ctx, FollowInterval, p.Timeout, true, func(ctx context.Context) (bool, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, client.IgnoreNotFound(err) // the next read may find it
		}
		step := look()
		if step.Line != last.Line {
			p.Step(step.Line)
		}
		last = step
		return step.Done, nil
	})
	if p.Terminal && last.Line != "" {
		p.Last(last.Line)
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the command was interrupted. The change is made, and the operator continues. See kubectl etcd status")
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the change can no longer be followed: %w. The operator continues. See kubectl etcd status", err)
	case err != nil:
		return fmt.Errorf("the change did not end within %s: %s. The operator continues. See kubectl etcd status", p.Timeout, strings.TrimSuffix(last.Line, "."))
	case last.Failed:
		return fmt.Errorf("%s. The work stopped. See kubectl etcd status", strings.TrimSuffix(last.Line, "."))
	}
	return nil
}

func (p *Session) Step(line string) {
	if p.Terminal {
		fmt.Fprint(p.Raw.Out, "\r\x1b[K")
		fmt.Fprint(p.Out, p.short(line))
		return
	}
	fmt.Fprintln(p.Out, line)
}

// short cuts a line that the terminal would wrap: the next step erases one row only.
func (p *Session) short(line string) string {
	const cut = "..."
	if p.Width == 0 || len(line) < p.Width {
		return line
	}
	return strings.ToValidUTF8(line[:p.Width-1-len(cut)], "") + cut
}

// Last ends the row of the last step, and shows what was cut off.
func (p *Session) Last(line string) {
	if p.short(line) != line {
		fmt.Fprint(p.Raw.Out, "\r\x1b[K")
		fmt.Fprint(p.Out, terminal.Wrap(line, p.Width, 0))
	}
	fmt.Fprintln(p.Out)
}
