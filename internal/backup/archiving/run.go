package archiving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// archiveWaiting is how much of what an archiver has in the spool may wait for the store.
	archiveWaiting = 16 << 20
	// restJitter spreads the archivers that one outage has ended.
	restJitter = 0.3
)

// run keeps the archiver of one EtcdBackup running until ctx ends.
func (t *runner) run(ctx context.Context, a *Archiver) {
	failures := int32(0)
	for ctx.Err() == nil {
		began := t.Now()
		a.starts(began)
		_, err := panics.Try(func() (struct{}, error) { return struct{}{}, t.once(ctx, a) })
		if ctx.Err() != nil {
			return
		}
		if caught := (*panics.Error)(nil); errors.As(err, &caught) {
			ctrl.Log.WithName(state.Operator).Error(err, "An archiver panicked", "etcdBackup", a.key.Object, "stack", string(caught.Stack))
		}
		if a.hasArchived() && t.Now().Sub(began) >= archiveStable {
			failures = 0
		}
		failures++
		why, spent := classify(err, a.current().job), t.Now().Sub(began)
		if a.hasArchived() {
			spent = 0 // it has not failed to begin
		}
		rest := wait.Jitter(limits.Delay(failures, err, why.Reason, spent, a.current().maxLag), restJitter)
		t.metrics.stopped(a.key.Object, a.safe(), t.Now())
		a.failed(failures, why, t.Now(), rest)
		a.notify()
		if !limits.Pause(ctx, rest) {
			return
		}
	}
}

// once archives until something fails.
func (t *runner) once(ctx context.Context, a *Archiver) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	spec := a.current()
	release, err := t.reserve(ctx, a.key.Object.Namespace) // before anything that takes memory for the archive
	if err != nil {
		return err
	}
	defer release()
	grow, shrink := t.extra(a.key.Object.Namespace)
	defer shrink()
	secrets := t.SecretsOf(a.key.Object.Namespace)
	defer secrets.Release()
	cluster, store, advice, err := t.prepare(ctx, spec, secrets)
	if err != nil {
		return errors.Join(err, t.callOffAlone(ctx, a, spec, err))
	}
	defer cluster.Close()
	dir, err := os.MkdirTemp(t.spool.Dir(), queue.ArchiveDirs)
	if err != nil {
		return fmt.Errorf("spool segments: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var running *archiver.Archiver
	running = archiver.New(archiver.Options{
		Fence:   a.fence,
		Stored:  func() { t.copies.Offer(a.key, running.Status()) },
		Cluster: members{cluster}, Store: store, Root: spec.job.ArchiveRoot(), Dir: dir, Encoder: spec.job.Encoder, Writer: spec.job.AttemptPrefix(), Recovery: spec.recovery, Hurry: a.hurried,
		SameHistory: func(ctx context.Context) error { return t.ConfirmRecovery(ctx, spec.job, spec.recovery) },
		BaseOwed:    a.owed(),
		MaxLag:      spec.maxLag, MaxSize: limits.Segment, MaxSpool: archiveWaiting, Grow: grow, Now: t.Now, Memory: namespaceMemory(a.key.Object.Namespace),
		TakeBase: func(ctx context.Context, reason string) (archiver.Base, error) {
			base, err := a.ask(ctx, reason)
			if err != nil {
				return archiver.Base{}, err
			}
			id, err := strconv.ParseUint(base.ClusterID, 16, 64)
			return archiver.Base{Key: base.Key, ClusterID: id, Revision: base.Point.Revision, At: base.Point.At, Auth: base.Auth}, err
		},
	})
	k := &keeper{job: t, Archiver: a, store: store, running: running, advice: advice, began: t.Now(), end: cancel}
	kept, handed := make(chan struct{}), make(chan struct{})
	go panics.Caught(func() { defer close(kept); k.run(ctx) }, cancel)()
	h := &handover{Archiver: a, store: store, running: running, users: members{cluster}.Auth, member: t.withMember, permits: t.mayFence, now: t.Now}
	go panics.Caught(func() { defer close(handed); h.run(ctx) }, cancel)()
	if err = running.Run(ctx); errors.Is(err, archiver.ErrSilent) {
		err = ofMembers(err)
	}
	cancel(nil)
	<-kept
	<-handed
	k.publish(running.Status()) // with the last segment
	a.owes(running.Status().BaseOwed)
	return err
}
