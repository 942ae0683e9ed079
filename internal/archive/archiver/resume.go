package archiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// resume reads where the chain in the store ends. It begins a timeline if there is none, or if the cluster is not the one
// of the newest timeline.
func (a *Archiver) resume(ctx context.Context) (archive.Chain, error) {
	newest, found, err := archive.NewestOf(ctx, a.Store, a.Root)
	switch {
	case err != nil:
		return archive.Chain{}, err
	case !found:
		return archive.Chain{}, a.begin(ctx, 1, reasonFirst)
	}
	if !newest.Started {
		return archive.Chain{}, a.begin(ctx, newest.Timeline+1, reasonNoStart)
	}
	start, chain, err := a.endOf(ctx, newest)
	if err != nil {
		return archive.Chain{}, a.replaceUnread(ctx, newest, err)
	}
	// The cluster is asked after the store: an archiver that still runs may have stored changes until now.
	asked := a.Now()
	head, err := a.Cluster.Head(ctx)
	if err != nil {
		return archive.Chain{}, err
	}
	a.began = sight{revision: head.Revision, at: asked}
	switch id, err := strconv.ParseUint(start.ClusterID, 16, 64); {
	case err != nil:
		return chain, fmt.Errorf("%w: the cluster ID of timeline %d: %w", archive.ErrCorrupt, start.Timeline, err)
	case id != head.ClusterID:
		return chain, a.begin(ctx, newest.Timeline+1, reasonCluster)
	case a.Recovery != start.Recovery && a.Recovery == "":
		return chain, a.begin(ctx, newest.Timeline+1, reasonForgotten)
	case a.Recovery != start.Recovery:
		return chain, a.begin(ctx, newest.Timeline+1, reasonRecovery)
	case head.Revision < chain.Last:
		return chain, a.begin(ctx, newest.Timeline+1, reasonBehind)
	}
	a.clusterID = head.ClusterID
	return chain, nil
}

// replaceUnread begins another timeline if the end of the newest one cannot be read, and the store returns new objects. err is why it cannot be
// extended. If the store returns no new object, the archiver takes no base, because the next attempt would need another one.
func (a *Archiver) replaceUnread(ctx context.Context, newest archive.Names, err error) error {
	if a.unreadEnd(ctx, newest) == nil {
		return err
	}
	if failed := a.returnsNew(ctx); failed != nil {
		return fmt.Errorf("%w; and another timeline would not help: %w", err, failed)
	}
	return a.begin(ctx, newest.Timeline+1, reasonUnread)
}

// endOf reads the start of a timeline and the end of its chain.
func (a *Archiver) endOf(ctx context.Context, names archive.Names) (archive.Start, archive.Chain, error) {
	start, err := archive.ReadStart(ctx, a.Store, a.Root, names.Timeline)
	if err != nil {
		return start, archive.Chain{}, err
	}
	last, err := archive.EndOf(ctx, a.Store, a.Root, start, names.Links)
	switch {
	case err != nil:
		return start, archive.Chain{}, err
	case last.Timeline == 0:
		return start, start.Chain(), nil
	}
	a.compacted = max(a.compacted, last.CompactRevision)
	return start, last.Chain(), nil
}

// begin takes a base and begins a timeline with it. Its error is always set: errAgain after a success. If two archivers
// begin the same timeline, the second one uses that of the first.
func (a *Archiver) begin(ctx context.Context, t archive.Timeline, reason string) error {
	a.update(func(s *Status) { s.Blocked = true })
	base, err := a.TakeBase(ctx, a.because("timeline %d: %s", t, reason))
	if err != nil {
		return fmt.Errorf("take the base snapshot of timeline %d: %w", t, err)
	}
	start := archive.NewStart(t, base.ClusterID, base.archived(), reason)
	start.Writer, start.Recovery = a.Writer, a.Recovery
	start.Lost = reason == reasonUnread || reason == reasonPartly && base.Revision > a.Status().Stored.Revision
	err = a.Store.Put(ctx, archive.StartKey(a.Root, t), objstore.NewMetadata(start.Encode()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("begin timeline %d: %w", t, err)
	}
	if err == nil && start.Lost {
		a.update(func(s *Status) { s.Gaps++ })
	}
	return again(err, "timeline %d was begun, because %s", t, reason)
}

// again returns errAgain with what the run has changed. stored is fs.ErrExist if the store had it already.
func again(stored error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if errors.Is(stored, fs.ErrExist) {
		what += ", and the store answers that the object exists"
	}
	return fmt.Errorf("%w: %s", errAgain, what)
}

// because returns the reason for a base. It names the last recovery: a snapshot from before it has another history, and must not be the answer.
func (o Options) because(format string, args ...any) string {
	return Because(o.Recovery, fmt.Sprintf(format, args...))
}

// Because adds the last recovery from a lost quorum to the reason for a base.
func Because(recovery, reason string) string {
	if recovery == "" {
		return reason
	}
	return fmt.Sprintf("%s (last recovery: %s)", reason, recovery)
}

// gap records that events are lost, and takes a base after them.
func (a *Archiver) gap(ctx context.Context, chain archive.Chain, compacted int64) error {
	reason := fmt.Sprintf("etcd was compacted to revision %d before they were archived", compacted)
	a.update(func(s *Status) { s.Blocked = true })
	base, err := a.TakeBase(ctx, a.because("the revisions from %d are lost: %s", chain.Last+1, reason))
	if err != nil {
		return fmt.Errorf("take a base snapshot after the lost revisions from %d: %w", chain.Last+1, err)
	}
	if base.ClusterID != a.clusterID || base.Revision <= chain.Last {
		return again(nil, "the base after the lost revisions from %d is of another cluster, or of older data", chain.Last+1) // another timeline will begin
	}
	if base.At.Before(chain.At) {
		base.At = chain.At
	}
	h := archive.NewGap(chain, base.archived(), compacted, reason)
	key := archive.LinkKey(a.Root, chain.Timeline, chain.At, h.First)
	err = a.Store.Put(ctx, key, objstore.NewMetadata(h.Encode()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("record the lost revisions from %d: %w", h.First, err)
	}
	a.update(func(s *Status) { s.Gaps++ })
	return again(err, "the lost revisions from %d were recorded", h.First)
}

// rereadTimeout limits how long a watch may return nothing that shows whether etcd still has the changes.
const rereadTimeout = 5 * time.Second
