// Package attempt runs attempts: it takes, copies and deletes snapshots.
package attempt

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Run runs one attempt within its time limit. Its errors and panics affect no other EtcdBackup.
func (t *Job) Run(ctx context.Context, o state.JobSpec, progress *queue.Progress) state.Result {
	ctx, limit, cancel := queue.WithTimeLimit(ctx, o.Timeout, t.Spool.Of(o.Namespace).Crowds)
	defer cancel()
	progress.Limit = limit
	ctx, held := objstore.Hold(ctx, o.Namespace)
	defer held.Release()
	result, err := panics.Try(func() (state.Result, error) { return t.work(ctx, o, progress) })
	if caught := (*panics.Error)(nil); errors.As(err, &caught) {
		ctrl.LoggerFrom(ctx).Error(err, "An attempt panicked", "stack", string(caught.Stack))
	}
	err = explained(ctx, err)
	if err != nil {
		expired := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		result.Failure = failure.Classify(err, o, expired)
	}
	result.EndedAt = t.Now()
	return result
}

// explained adds why the attempt was ended, because the library that was reading reports a context that was cancelled.
func explained(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	ended := errors.Is(cause, pace.ErrTooSlow) || errors.Is(cause, turns.ErrOthersWaited)
	if err == nil || !ended || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// work does what the job spec asks for.
func (t *Job) work(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	switch o.Kind {
	case state.KindDrill:
		return t.TestNewest(ctx, o, progress)
	case state.KindPurge:
		return purger{t.Tester}.all(ctx, o, progress)
	case state.KindCopy:
		return t.copyTo(ctx, o, progress)
	case state.KindPrune:
		return t.pruneSuspended(ctx, o, progress)
	}
	return t.take(ctx, o, progress)
}
