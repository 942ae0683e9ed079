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

const (
	// patience is how long an operator may report a problem before the command ends. Some end by themselves, for example that of a Secret that is created late.
	patience = 15 * time.Second
	// requestLimit is how long the API server may take for one step. client-go has no limit.
	requestLimit = 10 * time.Second
)

// errTooLong is in the chain of an error if a stage was not reached in time.
var errTooLong = errors.New("it took too long")

// foreignError says why objects with the names of the migration are not those of the migration. The command neither waits for them nor changes them.
type foreignError struct{ why string }

func (e foreignError) Error() string { return e.why }

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

// migration is one run of the command. What it has done is in the objects, so that another run continues.
type migration struct {
	watcher
	// version of etcd that the source ran when the command began; empty if that is not known.
	version string
}

// await shows each step until a stage is reached.
func (w *watcher) await(ctx context.Context, stage moving.Stage, limit time.Duration) (moving.Progress, error) {
	return w.awaitUnless(ctx, stage, limit, func(moving.Objects) string { return "" })
}

// awaitUnless is await that ends if a function returns why the stage cannot be reached.
func (w *watcher) awaitUnless(ctx context.Context, stage moving.Stage, limit time.Duration, over func(moving.Objects) string) (now moving.Progress, err error) {
	var since time.Time
	open := false // a row of the terminal that the next step replaces
	err = w.poll(ctx, limit, func(p moving.Progress) (bool, error) {
		now = p
		if why := over(w.objects); why != "" {
			return false, errors.New(why)
		}
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

// finalError is one after which a step is not tried again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// poll reads the objects once a second, until done. An API server that does not answer for a while ends nothing: a switchover that takes too long must be called off.
func (w *watcher) poll(ctx context.Context, limit time.Duration, done func(moving.Progress) (bool, error)) error {
	return w.try(ctx, limit, func(limited context.Context) (is bool, err error) {
		now, err := w.read(limited)
		var foreign foreignError
		switch {
		case errors.As(err, &foreign):
			return false, finalError{err}
		case err != nil:
			return false, err
		}
		if is, err = done(now); err != nil {
			err = finalError{err}
		}
		return is, err
	})
}

// try makes a step once a second, until it is done or its error is final. The time is over even while the API server does not answer.
func (w *watcher) try(ctx context.Context, limit time.Duration, step func(context.Context) (done bool, err error)) error {
	var unread error
	err := wait.PollUntilContextTimeout(ctx, session.FollowInterval, limit, true, func(limited context.Context) (done bool, err error) {
		var final finalError
		if done, unread = step(limited); errors.As(unread, &final) {
			return false, final.error
		}
		return done, nil
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

// read reads the objects of the migration. Somebody else may make one with the same name at any time.
func (w *watcher) read(ctx context.Context) (moving.Progress, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
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
	if why := r.Foreign(o); why != "" {
		return moving.Progress{}, foreignError{why}
	}
	return moving.Of(o), nil
}

// ended adds to an error what continues without the command.
func (w *watcher) ended(ctx context.Context, stage moving.Stage, err error) error {
	var foreign foreignError
	switch {
	case ctx.Err() != nil:
		err = errInterrupted
	case errors.As(err, &foreign): // to end the migration by deleting them would end that of somebody else
		return err
	}
	return fmt.Errorf("%w. %s", err, moving.Running(stage, w.objects))
}

func (w *watcher) say(text string) error {
	_, err := fmt.Fprintln(w.p.Out, terminal.Wrap(text, w.p.Width, 0))
	return err
}
