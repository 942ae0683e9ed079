package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// patience is how long an operator may report a problem before the command ends. Some end by themselves, for example that of a Secret that is created late.
const patience = 15 * time.Second

// errTooLong is in the chain of an error if a stage was not reached in time.
var errTooLong = errors.New("it took too long")

// errInterrupted is in the chain of the error after Ctrl-C.
var errInterrupted = errors.New("the command was interrupted")

// watcher reads the objects of a migration, and shows how far it is.
type watcher struct {
	p     *session.Session
	w     *session.World
	flags *flags
	// backup is the EtcdBackup of the source.
	backup  client.ObjectKey
	objects moving.Objects
	// shown is the last line about the progress.
	shown string
}

// await shows each step until a stage is reached.
func (w *watcher) await(ctx context.Context, stage moving.Stage, limit time.Duration) (now moving.Progress, err error) {
	var since time.Time
	open := false // a row of the terminal that the next step replaces
	err = w.poll(ctx, limit, func(p moving.Progress) (bool, error) {
		now = p
		if now.Line != w.shown && now.Line != "" {
			w.p.Step(now.Line)
			w.shown, open = now.Line, true
		}
		if now.Problem == "" || since.IsZero() {
			since = w.p.Now()
		}
		if now.Problem != "" && (now.Final || w.p.Now().Sub(since) >= patience) {
			return false, errors.New(strings.TrimSuffix(w.why(now), "."))
		}
		return now.Problem == "" && now.Stage >= stage, nil
	})
	if w.p.Terminal && open {
		w.p.Last(w.shown)
	}
	if err != nil {
		return now, w.ended(ctx, now.Stage, err)
	}
	return now, nil
}

// why returns what keeps a migration from its end. If the version of etcd is the cause, it has the steps of the other way.
func (w *watcher) why(now moving.Progress) string {
	if w.objects.Restore == nil && w.objects.Backup != nil && now.Final {
		return cmp.Or(w.flags.request.Unsupported(w.objects.Backup.Status.EtcdVersion), now.Problem)
	}
	return now.Problem
}

// poll reads the objects once a second, until done. An API server that does not answer for a while ends nothing: a switchover that takes too long must be called off.
func (w *watcher) poll(ctx context.Context, limit time.Duration, done func(moving.Progress) (bool, error)) error {
	var unread error
	err := wait.PollUntilContextTimeout(ctx, session.FollowInterval, limit, true, func(context.Context) (bool, error) {
		var now moving.Progress
		if now, unread = w.read(ctx); unread != nil {
			return false, nil //nolint:nilerr // the next read may succeed, and the limit ends the wait
		}
		return done(now)
	})
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case wait.Interrupted(err) && unread != nil:
		return fmt.Errorf("%w: more than %s. %w", errTooLong, limit, unread)
	case wait.Interrupted(err):
		return fmt.Errorf("%w: more than %s", errTooLong, limit)
	}
	return err
}

// read reads the objects of the migration.
func (w *watcher) read(ctx context.Context) (moving.Progress, error) {
	r := w.flags.request
	var o moving.Objects
	var err error
	if o.Backup, err = find(ctx, w.w, w.backup, &v1beta2.EtcdBackup{}); err != nil {
		return moving.Progress{}, err
	}
	if o.Restore, err = find(ctx, w.w, client.ObjectKey{Namespace: r.Namespace, Name: r.ObjectName()}, &v1beta2.EtcdRestore{}); err != nil {
		return moving.Progress{}, err
	}
	if o.Cluster, err = find(ctx, w.w, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, &v1beta2.EtcdCluster{}); err != nil {
		return moving.Progress{}, err
	}
	w.objects = o
	return moving.Of(o), nil
}

// ended adds to an error what continues without the command.
func (w *watcher) ended(ctx context.Context, stage moving.Stage, err error) error {
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return fmt.Errorf("%w. %s", err, moving.Running(stage, w.objects))
}

func (w *watcher) say(text string) error {
	_, err := fmt.Fprintln(w.p.Out, terminal.Wrap(text, w.p.Width, 0))
	return err
}
