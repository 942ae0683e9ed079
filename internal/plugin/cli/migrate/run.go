package migrate

import (
	"context"
	"errors"

	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// run does what is left of a migration.
func (m *migration) run(ctx context.Context) error {
	now, err := m.read(ctx)
	if err != nil {
		return err
	}
	if now.Stage < moving.HandingOver {
		if err := m.prepare(ctx, now); err != nil {
			return err
		}
		if !m.p.Wait {
			return m.say(moving.Running(moving.Following, m.objects))
		}
		if now, err = m.await(ctx, moving.Ready, m.p.Timeout); err != nil {
			return err
		}
	}
	if now.Stage < moving.HandingOver {
		if err := m.handOver(ctx); err != nil {
			return err
		}
	}
	if now.Stage < moving.Starting {
		if err := m.awaitPromotion(ctx); err != nil {
			return err
		}
	}
	return m.finish(ctx)
}

// finish waits until the new cluster serves, compares both sides, and says what is left to do. Without a comparison, the command fails: what deletes the source after a
// success must not delete data that the new cluster lacks.
func (m *migration) finish(ctx context.Context) error {
	if _, err := m.await(ctx, moving.Serving, m.p.Timeout); err != nil {
		return err
	}
	if err := m.say(moving.Connect(*m.objects.Cluster)); err != nil {
		return err
	}
	notCompared, err := m.verify(ctx)
	if err != nil {
		return err
	}
	if _, err := m.await(ctx, moving.Complete, m.p.Timeout); err != nil {
		return err
	}
	if notCompared != "" { // the first member may have restarted to get its final settings
		if notCompared, err = m.verify(ctx); err != nil {
			return err
		}
	}
	if m.objects.Backup != nil {
		if err := m.say(moving.NoWayBack(m.objects)); err != nil {
			return err
		}
	}
	if notCompared != "" {
		return errors.New(notCompared)
	}
	return nil
}
