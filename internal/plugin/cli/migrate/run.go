package migrate

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// migration is one run of the command. What it has done is in the objects, so that another run continues.
type migration struct {
	watcher
	// version of etcd that the source ran when the command began; empty if that is not known.
	version string
}

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

// handOver asks, and lets the source stop its writes.
func (m *migration) handOver(ctx context.Context) error {
	limit := ""
	if m.flags.maxOutage > 0 {
		limit = m.flags.maxOutage.String()
	}
	if err := m.p.Confirm(ctx, moving.HandOverQuestion(m.objects, limit)); err != nil {
		return m.ended(ctx, moving.Ready, err)
	}
	now, err := m.read(ctx) // a person may have taken minutes to answer
	switch {
	case err != nil:
		return m.ended(ctx, moving.Ready, err)
	case now.Stage < moving.Ready || now.Problem != "":
		return m.ended(ctx, moving.Following, fmt.Errorf("the standby is behind again: %s. The source takes writes", now.Line))
	case now.Stage > moving.Ready:
		return nil
	}
	if m.objects.Restore.Spec.Follow.Promote == "" {
		before := m.objects.Restore.DeepCopy()
		m.objects.Restore.Spec.Follow.Promote = v1beta2.FollowPromotePlanned
		if err := m.w.Patch(ctx, m.objects.Restore, client.MergeFrom(before)); err != nil {
			return m.ended(ctx, moving.Ready, fmt.Errorf("EtcdRestore %s cannot be changed: %w", m.objects.Restore.Name, err))
		}
	}
	if err := m.setSwitchover(ctx, true); err != nil {
		return m.ended(ctx, moving.Ready, err)
	}
	return nil
}

// setSwitchover asks the source to hand its clients over, or calls that off.
func (m *migration) setSwitchover(ctx context.Context, is bool) error {
	before := m.objects.Backup.DeepCopy()
	m.objects.Backup.Spec.Continuous.Switchover = is
	if err := m.w.Patch(ctx, m.objects.Backup, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be changed: %w", m.objects.Backup.Name, err)
	}
	return nil
}

// awaitPromotion waits until the standby has taken over. If that takes too long, it calls the switchover off. The store decides which of the two was first.
func (m *migration) awaitPromotion(ctx context.Context) error {
	limit := m.flags.maxOutage
	if limit <= 0 {
		limit = m.p.Timeout
	}
	now, err := m.await(ctx, moving.Starting, limit)
	if !errors.Is(err, errTooLong) || m.flags.maxOutage <= 0 {
		return err
	}
	if err := m.setSwitchover(ctx, false); err != nil {
		return m.ended(ctx, moving.HandingOver, err)
	}
	late := moving.CalledOff(limit.String(), now.Line)
	if err := m.say("The command calls the switchover off."); err != nil {
		return err
	}
	promoted := false
	err = m.poll(ctx, m.p.Timeout, func(now moving.Progress) (bool, error) {
		promoted = now.Stage >= moving.Starting // the standby was first
		return promoted || m.objects.Backup != nil && m.objects.Backup.Status.Switchover == nil, nil
	})
	switch {
	case err != nil:
		return m.ended(ctx, moving.Following, fmt.Errorf("the switchover is being called off, and the source may refuse writes until that is done: %w", err))
	case !promoted:
		return errors.New(late)
	}
	return nil
}

// finish waits until the new cluster serves, compares both sides, and says what is left to do.
func (m *migration) finish(ctx context.Context) error {
	if _, err := m.await(ctx, moving.Serving, m.p.Timeout); err != nil {
		return err
	}
	if err := m.say(moving.Connect(*m.objects.Cluster)); err != nil {
		return err
	}
	verified, err := m.verify(ctx)
	if err != nil {
		return err
	}
	if _, err := m.await(ctx, moving.Complete, m.p.Timeout); err != nil {
		return err
	}
	if verified != "" { // the first member may have restarted to get its final settings
		if verified, err = m.verify(ctx); err != nil {
			return err
		}
	}
	if verified != "" {
		if err := m.say(verified); err != nil {
			return err
		}
	}
	if m.objects.Backup == nil {
		return nil
	}
	return m.say(moving.NoWayBack(m.objects))
}
