package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// conflicts is how often the request to hand over is made while operators write the status of the same object.
const conflicts = 20

// handOver asks, and lets the source stop its writes.
func (m *migration) handOver(ctx context.Context) error {
	limit := ""
	if m.flags.maxOutage > 0 {
		limit = m.flags.maxOutage.String()
	}
	if err := m.p.Confirm(ctx, moving.HandOverQuestion(m.objects, limit)); err != nil {
		return m.ended(ctx, moving.Ready, err)
	}
	var err error
	for range conflicts {
		now, unread := m.read(ctx) // a person may have taken minutes to answer
		switch {
		case unread != nil:
			return m.ended(ctx, moving.Ready, unread)
		case now.Stage < moving.Ready || now.Problem != "":
			return m.ended(ctx, moving.Following, fmt.Errorf("the standby is behind again: %s. The source takes writes", now.Line))
		case now.Stage > moving.Ready:
			return nil
		}
		if err = m.syncUsers(ctx); apierrors.IsConflict(err) {
			continue
		} else if err != nil {
			return m.ended(ctx, moving.Ready, err)
		}
		if err = m.request(ctx); !apierrors.IsConflict(err) {
			break
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the request may have arrived
		return m.ended(ctx, moving.HandingOver, err)
	case refused(err):
		return m.ended(ctx, moving.Ready, err)
	}
	return m.callOff(ctx, *m.objects.Backup, fmt.Sprintf("the API server did not say whether the source was asked to hand over: %v", err))
}

// request lets the standby wait for the end of the source, and asks the source for it. Each object must be as it was read: a request that arrives late must not stop the
// writes of a source after the switchover was called off.
func (m *migration) request(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	if m.objects.Restore.Spec.Follow.Promote == "" {
		before := m.objects.Restore.DeepCopy()
		m.objects.Restore.Spec.Follow.Promote = v1beta2.FollowPromotePlanned
		if err := m.patch(ctx, m.objects.Restore, before); err != nil {
			return fmt.Errorf("EtcdRestore %s cannot be changed: %w", m.objects.Restore.Name, err)
		}
	}
	return m.setSwitchover(ctx, m.objects.Backup, true)
}

// setSwitchover asks the source to hand its clients over, or calls that off.
func (m *migration) setSwitchover(ctx context.Context, b *v1beta2.EtcdBackup, is bool) error {
	before := b.DeepCopy()
	b.Spec.Continuous.Switchover = is
	if err := m.patch(ctx, b, before); err != nil {
		return fmt.Errorf("EtcdBackup %s cannot be changed: %w", b.Name, err)
	}
	return nil
}

func (m *migration) patch(ctx context.Context, after, before client.Object) error {
	return m.w.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// refused reports whether the API server has refused a request, so that it has changed nothing.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// awaitPromotion waits until the standby has taken over. If that takes too long, or if a person must act first, it calls the switchover off. The store decides which of the
// two was first.
func (m *migration) awaitPromotion(ctx context.Context) error {
	asked, limit := *m.objects.Backup, m.flags.maxOutage
	if limit <= 0 {
		limit = m.p.Timeout
	}
	now, err := m.awaitUnless(ctx, moving.Starting, limit, moving.Withdrawn)
	switch over := moving.Withdrawn(m.objects) != "" || moving.TakenByOther(m.objects) || now.Stage >= moving.Starting; {
	case err == nil, over, m.flags.maxOutage <= 0, errors.Is(err, errInterrupted):
		return err
	case errors.Is(err, errTooLong):
		return m.callOff(ctx, asked, moving.TooLong(limit.String(), now.Line))
	}
	return m.callOff(ctx, asked, strings.TrimSuffix(cmp.Or(now.Problem, err.Error()), "."))
}

// callOff lets the source take writes again, and returns why, or nil if the standby was first. It tries until that is done: otherwise one request that fails would leave
// clients without writes until a person acts.
func (m *migration) callOff(ctx context.Context, asked v1beta2.EtcdBackup, why string) error {
	if err := m.say("The command calls the switchover off."); err != nil {
		return err
	}
	m.objects.Backup = &asked
	err := m.try(ctx, m.p.Timeout, func(limited context.Context) (done bool, err error) {
		limited, cancel := context.WithTimeout(limited, requestLimit)
		defer cancel()
		b, err := find(limited, m.w, client.ObjectKeyFromObject(&asked), &v1beta2.EtcdBackup{})
		switch {
		case err != nil:
			return false, err
		case b == nil || b.UID != asked.UID:
			return false, finalError{fmt.Errorf("EtcdBackup %s was deleted", asked.Name)}
		case b.Spec.Continuous == nil:
			return false, finalError{fmt.Errorf("EtcdBackup %s has no continuous archive any more: write continuous back into its spec, with switchover: false", asked.Name)}
		case b.Spec.Continuous.Switchover:
			return false, m.setSwitchover(limited, b, false) // the next step sees what has become of it
		}
		m.objects.Backup = b
		return moving.HasTakenOver(m.objects) || b.Status.Switchover == nil, nil
	})
	switch {
	case err != nil:
		return m.ended(ctx, moving.HandingOver, fmt.Errorf("the switchover is to be called off (%s), and the source may refuse writes until that is done: %w", why, err))
	case moving.TakenByOther(m.objects):
		return errors.New(why)
	case !moving.HasTakenOver(m.objects):
		return errors.New(moving.CalledOff(why))
	}
	return nil
}
