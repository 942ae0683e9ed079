package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// keeper looks after the archive of a running archiver: it finds out what can be restored, and deletes what no target in the
// window needs. It only asks the store after a new snapshot, a failed restore test, a deletion, a gap, or a new timeline.
type keeper struct {
	*archiving
	job     *archiveJob
	store   objstore.Store
	running *archiver.Archiver
	advice  string
	began   time.Time
	end     func(error) // ends this run of the archiver

	known    snapshot.Known
	held     *objstore.Holding // counts known, and what is outdated
	survey   archive.Survey
	surveyed bool
	before   archiver.Status // at the last look
	counted  archiver.Status // in the metrics
	next     time.Time       // when a failed survey or deletion is repeated
	again    time.Time       // when a survey is repeated that could not read a start; zero if it could
	outdated []string
	// later are outdated, too. more means that the archive has more than these, and first is the first of them.
	later  []archive.Name
	more   bool
	first  string
	base   int64 // revision of the newest base of the timeline
	shape  shape
	asked  map[string]time.Time // by reason
	seen   archiver.Status      // when the survey was made
	window time.Duration        // for which outdated was found
	spoilt spoilt
	// replaceAt is when another snapshot replaces the spoilt ones; zero if there are none.
	replaceAt time.Time
	disproven bool // a proof has failed, as the store says
	pruned    bool // all that was outdated after the last news is deleted
}

const (
	keeperInterval = time.Second
	keeperRetry    = time.Minute
	// deletionsPerLook is how many objects are deleted between two looks at the archiver.
	deletionsPerLook = 100
	// maxOutdated is how many outdated links are held between two looks, and maxRefused is how many keys.
	maxOutdated, maxRefused = 50_000, 1000
	// maxBases is how many snapshots are looked at besides those of the window.
	maxBases = 1000
	// rangesShown is how many ranges the status lists.
	rangesShown = 16
	// askAgain is how often a base is asked for that does not help.
	askAgain = 10 * time.Minute
)

// shape is the part of the view whose changes are reported at once. All else waits for the next minute.
type shape struct {
	begun, covered, delayed, failing bool
	unpruned, unread, holes          string
	ranges                           int
	timeline                         archive.Timeline
	reached                          int64 // the newest base that a range reaches: a proof may be due
	replace                          time.Time
}

func (k *keeper) run(ctx context.Context) {
	k.known, k.asked = snapshot.Known{}, map[string]time.Time{}
	_, k.held = objstore.Hold(ctx, k.key.Object.Namespace)
	defer k.held.Release()
	tick := time.NewTicker(keeperInterval)
	defer tick.Stop()
	stale := true
	for {
		status := k.running.Status()
		if status.Timeline > 0 {
			if stale = stale || k.changed(status); stale && !k.job.now().Before(k.next) {
				if stale = !k.look(ctx); !stale {
					k.seen = status
				}
			}
			k.before = status
			k.limitLinks(ctx, status)
			k.replaceSpoilt(ctx)
			stale = k.prune(ctx) || stale
		}
		k.publish(status)
		select {
		case <-ctx.Done():
			return
		case <-k.news:
			stale, k.pruned = true, false
		case <-tick.C:
		}
	}
}

// changed returns whether the last survey, or what it found outdated, may not be right any more.
func (k *keeper) changed(now archiver.Status) bool {
	const limit = archive.MaxLinks
	if k.surveyed && k.following(now) >= limit && k.following(k.before) < limit {
		return true // the newest changes cannot be restored any more before the next snapshot
	}
	if !k.again.IsZero() && !k.job.now().Before(k.again) {
		return true
	}
	return now.Timeline != k.before.Timeline || now.Gaps != k.before.Gaps || now.Unbroken != k.before.Unbroken || k.current().job.Keep.Window != k.window
}

// look surveys the archive, and returns whether it could.
func (k *keeper) look(ctx context.Context) bool {
	o := k.current().job
	k.outdated, k.later, k.window = nil, nil, o.Keep.Window
	ctx, names := objstore.Hold(snapshot.KeptIn(ctx, k.held), o.Namespace)
	defer names.Release()
	found, err := surveyOf(ctx, k.store, o, k.known)
	if err != nil {
		return k.unread(err)
	}
	k.survey, k.surveyed, k.again = found.survey, true, time.Time{}
	defer k.survey.Drop() // a keeper runs for months
	if err := astray(k.survey, k.running.Status()); err != nil {
		k.end(err)
		return false
	}
	k.update(func(v *Archive) {
		v.Unpruned, v.Unread, v.Corrupt, v.Holes = startless(k.survey.Startless), "", false, unrestorable(k.survey)
		v.Proof = found.last
	})
	if len(k.survey.Unreadable) > 0 {
		k.again = k.job.now().Add(askAgain)
	}
	k.disproven = found.last != nil && found.last.Result == v1beta2.ProofFailed
	o.Keep.Now = k.job.now() // a snapshot from the future is no base
	k.base = k.survey.NewestBase()
	defer k.recount(found.index)
	if k.later, k.more, err = outdatedBy(ctx, k.store, o, k.survey, found.index, k.known); err != nil {
		return k.unread(err)
	}
	k.outdate(o, archive.OutdatedProofs(o.archiveRoot(), k.survey.Names, found.proofs))
	k.findSpoilt(o, found.index)
	if k.spoilt.count == 0 {
		k.cover(ctx, o, found.bases)
	}
	return true
}

// unread reports that the archive could not be read. The keeper looks again after a time.
func (k *keeper) unread(err error) bool {
	k.next = k.job.now().Add(keeperRetry)
	k.update(func(v *Archive) {
		v.Unread, v.Corrupt = planning.Sentence("The operator could not read the archive: ", err.Error()), errors.Is(err, archive.ErrCorrupt)
	})
	return false
}

// recount counts what is held until the next look. If it does not fit, fewer outdated segments are deleted before the next look.
func (k *keeper) recount(index snapshot.Index) {
	k.known.Recount(k.held, index)
	if len(k.later) > maxRefused && k.held.Add(archive.NamesBytes(len(k.later))) != nil {
		k.later, k.more = slices.Clone(k.later[:maxRefused]), true
	}
}

// found is what the store has of an archive.
type found struct {
	survey archive.Survey
	index  snapshot.Index
	bases  []archive.Base
	proofs []archive.ProofName
	last   *v1beta2.ArchiveProof
}

// surveyOf reads an archive and its bases. All of it is in the store, so it is the same if the status was lost.
func surveyOf(ctx context.Context, store objstore.Store, o jobSpec, known snapshot.Known) (f found, err error) {
	if f.index, f.bases, err = basesOf(ctx, store, o, known, o.Keep.Window); err != nil {
		return f, err
	}
	if f.proofs, err = archive.Proofs(ctx, store, o.archiveRoot()); err != nil {
		return f, err
	}
	if f.last, err = lastProof(ctx, store, o, f.proofs); err != nil {
		return f, err
	}
	f.survey, err = archive.Look(ctx, store, o.archiveRoot(), f.bases, rangesShown, o.seen(f.index, known)...)
	return f, err
}

// cover asks for a snapshot if the newest revisions cannot be restored without it. A snapshot of another EtcdBackup does not count: it may be
// deleted at any time, by the retention of that EtcdBackup or with it.
func (k *keeper) cover(ctx context.Context, o jobSpec, bases []archive.Base) {
	ours := func(b archive.Base) bool {
		m := k.known[b.Key].Manifest
		return m.Backup == o.Name && o.owns(b.Key, m) && k.survey.Covers(b)
	}
	switch {
	case !k.survey.Covered:
		k.askForBase(ctx, fmt.Sprintf("no snapshot reaches the revisions after %d", k.survey.Unbroken))
	case !slices.ContainsFunc(bases, ours):
		k.askForBase(ctx, fmt.Sprintf("no snapshot of EtcdBackup %s reaches the revisions after %d", o.Name, k.survey.Unbroken))
	}
}

// astray returns why an archiver extends a timeline from which nothing new can be restored: its start was deleted or cannot be read, or another archiver has
// begun the next one.
func astray(survey archive.Survey, now archiver.Status) error {
	newest := archive.Timeline(0)
	if n := len(survey.Names); n > 0 {
		newest = survey.Names[n-1].Timeline
	}
	switch {
	case now.Blocked: // it is about to begin a timeline
		return nil
	case slices.Contains(survey.Startless, now.Timeline):
		return fmt.Errorf("%w: the start object of timeline %d was deleted, so nothing of it can be restored", archive.ErrCorrupt, now.Timeline)
	case slices.ContainsFunc(survey.Unreadable, func(u archive.Unreadable) bool { return u.Timeline == now.Timeline && u.Refused() }):
		return fmt.Errorf("the store refuses to return the start object of timeline %d, so another timeline begins", now.Timeline)
	case newest > now.Timeline:
		return fmt.Errorf("%w: it has begun timeline %d", archiver.ErrFenced, newest)
	}
	return nil
}

// askForBase asks for a snapshot, for example because the newest revisions cannot be restored without one. An archiver before this one
// may have ended before it got it, or somebody has deleted it.
func (k *keeper) askForBase(ctx context.Context, reason string) {
	reason = archiver.Because(k.current().recovery, reason)
	at, again := k.asked[reason]
	if k.archiving.look().Want != "" || again && k.job.now().Sub(at) < askAgain {
		return
	}
	k.asked[reason] = k.job.now()
	go func() {
		_, _ = k.ask(ctx, reason) // it fails only if ctx ends
	}()
}

// following returns how many segments follow the newest snapshot.
func (k *keeper) following(now archiver.Status) int64 {
	return int64(k.survey.Following) + now.Segments - k.seen.Segments
}

// limitLinks asks for a snapshot before so many segments follow the last one that a restore refuses them.
func (k *keeper) limitLinks(ctx context.Context, status archiver.Status) {
	const limit = archive.MaxLinks / 2
	if k.surveyed && k.following(status) >= limit {
		k.askForBase(ctx, fmt.Sprintf("%d segments follow the snapshot at revision %d", limit, k.base))
	}
}

// publish updates the view, and tells the controller if it has another shape.
func (k *keeper) publish(status archiver.Status) {
	now := k.job.now()
	ranges, covered := extended(k.survey, status)
	delayed := status.Lag(now)
	if delayed <= k.current().maxLag+archiveSlack {
		delayed = 0
	}
	begun := status.Timeline > 0 && !status.Blocked
	k.mu.Lock()
	v := &k.view
	v.Replace = k.replaceAt
	v.Begun, v.Surveyed, v.Covered, v.Ranges, v.Delayed, v.StoreError, v.Advice = begun, k.surveyed, covered, ranges, delayed, "", k.advice
	if status.StoreError != nil {
		v.StoreError = status.StoreError.Error()
	}
	if begun && (v.Failures < archiveTolerated || now.Sub(k.began) >= archiveStable/2) {
		v.Failure, v.Failures = nil, 0
	}
	failing, unpruned, unread, holes := v.Failure != nil, v.Unpruned, v.Unread, v.Holes
	if begun {
		k.safeAt, k.archived, v.Idle = status.Safe, true, time.Time{}
	} else {
		k.idle(now)
	}
	k.mu.Unlock()
	k.job.metrics.count(k.key.Object, k.counted, status, now)
	k.counted = status
	reached := int64(0)
	if n := len(ranges); n > 0 && ranges[n-1].To.Revision >= k.base {
		reached = k.base
	}
	next := shape{begun, covered, delayed > 0, failing, unpruned, unread, holes, len(ranges), status.Timeline, reached, k.replaceAt}
	if next != k.shape {
		k.shape = next
		k.notify()
	}
}

// extended returns the ranges of a survey with the present end of the archive, and whether a base reaches that end.
func extended(s archive.Survey, status archiver.Status) ([]archive.Range, bool) {
	ranges := slices.Clone(s.Ranges)
	if n := len(ranges); n == 0 || !s.Covered || s.Unbroken != status.Unbroken || ranges[n-1].Timeline != status.Timeline {
		return ranges, false
	}
	last := &ranges[len(ranges)-1]
	for _, p := range []archive.Point{status.Stored, status.Progress} {
		// The first change after a base may have its time, because a manifest rounds that up to a second.
		if p.Revision > last.To.Revision && !p.At.Before(last.To.At) || p.Revision == last.To.Revision && p.At.After(last.To.At) {
			last.To = p
		}
	}
	return ranges, true
}
