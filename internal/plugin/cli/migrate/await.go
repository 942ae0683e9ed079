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

// await shows each step until a stage is reached.
func (m *migration) await(ctx context.Context, stage moving.Stage, limit time.Duration) (now moving.Progress, err error) {
	var since time.Time
	open := false // a row of the terminal that the next step replaces
	err = m.poll(ctx, limit, func(p moving.Progress) (bool, error) {
		now = p
		if now.Line != m.shown && now.Line != "" {
			m.p.Step(now.Line)
			m.shown, open = now.Line, true
		}
		if now.Problem == "" || since.IsZero() {
			since = m.p.Now()
		}
		if now.Problem != "" && (now.Final || m.p.Now().Sub(since) >= patience) {
			return false, errors.New(strings.TrimSuffix(m.why(now), "."))
		}
		return now.Problem == "" && now.Stage >= stage, nil
	})
	if m.p.Terminal && open {
		m.p.Last(m.shown)
	}
	if err != nil {
		return now, m.ended(ctx, now.Stage, err)
	}
	return now, nil
}

// why returns what keeps a migration from its end. If the version of etcd is the cause, it has the steps of the other way.
func (m *migration) why(now moving.Progress) string {
	if m.objects.Restore == nil && m.objects.Backup != nil && now.Final {
		return cmp.Or(m.flags.request.Unsupported(m.objects.Backup.Status.EtcdVersion), now.Problem)
	}
	return now.Problem
}

// poll reads the objects once a second, until done. An API server that does not answer for a while ends nothing: a switchover that takes too long must be called off.
func (m *migration) poll(ctx context.Context, limit time.Duration, done func(moving.Progress) (bool, error)) error {
	var unread error
	err := wait.PollUntilContextTimeout(ctx, session.FollowInterval, limit, true, func(context.Context) (bool, error) {
		var now moving.Progress
		if now, unread = m.read(ctx); unread != nil {
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
func (m *migration) read(ctx context.Context) (moving.Progress, error) {
	r := m.flags.request
	var o moving.Objects
	var err error
	if o.Backup, err = find(ctx, m.w, m.backup, &v1beta2.EtcdBackup{}); err != nil {
		return moving.Progress{}, err
	}
	if o.Restore, err = find(ctx, m.w, client.ObjectKey{Namespace: r.Namespace, Name: r.ObjectName()}, &v1beta2.EtcdRestore{}); err != nil {
		return moving.Progress{}, err
	}
	if o.Cluster, err = find(ctx, m.w, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, &v1beta2.EtcdCluster{}); err != nil {
		return moving.Progress{}, err
	}
	m.objects = o
	return moving.Of(o), nil
}

// ended adds to an error what continues without the command.
func (m *migration) ended(ctx context.Context, stage moving.Stage, err error) error {
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return fmt.Errorf("%w. %s", err, moving.Running(stage, m.objects))
}

func (m *migration) say(text string) error {
	_, err := fmt.Fprintln(m.p.Out, terminal.Wrap(text, m.p.Width, 0))
	return err
}
