package backup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// keeper looks after the archive of a running archiver: it finds out what can be restored, and deletes what no target in the
// window needs. It only asks the store after a new snapshot, a gap, or a new timeline.
type keeper struct {
	*archiving
	job     *archiveJob
	store   objstore.Store
	running *archiver.Archiver
	advice  string
	began   time.Time

	known    snapshot.Known
	survey   archive.Survey
	surveyed bool
	before   archiver.Status // at the last look
	counted  archiver.Status // in the metrics
	next     time.Time       // when a failed survey or deletion is repeated
	outdated []string
	base     int64 // revision of the newest base
	shape    shape
	asked    map[int64]time.Time
}

const (
	keeperInterval = time.Second
	keeperRetry    = time.Minute
	// deletionsPerLook is how many objects are deleted between two looks at the archiver.
	deletionsPerLook = 100
	// maxBases is how many of the newest snapshots are looked at.
	maxBases = 1000
	// rangesShown is how many ranges the status lists.
	rangesShown = 16
	// askAgain is how often a base is asked for that does not help.
	askAgain = 10 * time.Minute
)

// shape is the part of the view whose changes are reported at once. All else waits for the next minute.
type shape struct {
	begun, covered, delayed, failing bool
	unpruned                         string
	ranges                           int
	timeline                         archive.Timeline
	reached                          int64 // the newest base that a range reaches: a proof may be due
}

func (k *keeper) run(ctx context.Context) {
	k.known, k.asked = snapshot.Known{}, map[int64]time.Time{}
	tick := time.NewTicker(keeperInterval)
	defer tick.Stop()
	stale := true
	for {
		status := k.running.Status()
		if status.Timeline > 0 {
			changed := status.Timeline != k.before.Timeline || status.Gaps != k.before.Gaps || status.Unbroken != k.before.Unbroken
			if stale = stale || changed; stale && !k.job.now().Before(k.next) {
				stale = !k.look(ctx)
			}
			k.before = status
			k.prune(ctx)
		}
		k.publish(status)
		select {
		case <-ctx.Done():
			return
		case <-k.news:
			stale = true
		case <-tick.C:
		}
	}
}

// look surveys the archive, and returns whether it could.
func (k *keeper) look(ctx context.Context) bool {
	o := k.current().job
	index, bases, err := basesOf(ctx, k.store, o, k.known)
	if err == nil {
		k.survey, err = archive.Look(ctx, k.store, o.archiveRoot(), bases, rangesShown)
	}
	if err != nil {
		k.next = k.job.now().Add(keeperRetry)
		k.update(func(v *Archive) { v.Unpruned = fmt.Sprintf("The operator could not read the archive: %v.", err) })
		return false
	}
	k.surveyed = true
	k.update(func(v *Archive) { v.Unpruned = "" })
	k.outdated, k.base = outdatedBy(o, k.survey, index, k.known), 0
	for _, b := range bases {
		if n := len(k.survey.Starts); n > 0 && b.ClusterID == k.survey.Starts[n-1].ClusterID {
			k.base = max(k.base, b.Point.Revision)
		}
	}
	if !k.survey.Covered {
		k.askForBase(ctx)
	}
	return true
}

// basesOf returns all snapshots from which a replay can begin. It adds to known what it reads.
func basesOf(ctx context.Context, store objstore.Store, o jobSpec, known snapshot.Known) (snapshot.Index, []archive.Base, error) {
	lives := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}.Lives()
	index, err := snapshot.Scan(ctx, store, lives)
	if err != nil {
		return index, nil, err
	}
	items := index.Items[:min(len(index.Items), maxBases)]
	if err := known.Read(ctx, store, items); err != nil {
		return index, nil, err
	}
	var bases []archive.Base
	for _, item := range items {
		if reading := known[item.Key]; reading.Err != nil {
			delete(known, item.Key) // to read it again next time
		} else if item.Verdict != snapshot.Failed && !reading.Manifest.NoQuorum {
			bases = append(bases, baseOf(item.Key, reading.Manifest, item.Stored))
		}
	}
	return index, bases, nil
}

// baseOf returns a snapshot as the base of a replay. stored is when the store received it, or later.
func baseOf(key string, m snapshot.Manifest, stored time.Time) archive.Base {
	at := m.CapturedAt
	if at.IsZero() { // the member began to send it before the store had it
		at = stored
	}
	return archive.Base{
		Key: key, ClusterID: m.Cluster.ID, AuthRevision: m.AuthRevision,
		Point: archive.Point{Revision: max(m.Revision, emptyRevision), At: at.UTC()},
	}
}

// outdatedBy returns the keys of the archive that no target in the window needs. It is pure.
func outdatedBy(o jobSpec, survey archive.Survey, index snapshot.Index, known snapshot.Known) []string {
	if len(survey.Starts) == 0 {
		return nil
	}
	id, err := strconv.ParseUint(survey.Starts[len(survey.Starts)-1].ClusterID, 16, 64)
	if err != nil {
		return nil
	}
	item, found := o.Keep.Base(o.seriesOf(etcd.ID(id)), index, known)
	if !found {
		return nil
	}
	return archive.Outdated(o.archiveRoot(), survey.Names, survey.Starts, baseOf(item.Key, known[item.Key].Manifest, item.Stored))
}

// prune deletes some of the outdated objects, oldest first.
func (k *keeper) prune(ctx context.Context) {
	if k.job.now().Before(k.next) || k.current().job.Distrusted != nil {
		return
	}
	for range min(deletionsPerLook, len(k.outdated)) {
		if err := k.store.Delete(ctx, k.outdated[0]); err != nil {
			if ctx.Err() == nil {
				k.next = k.job.now().Add(keeperRetry)
				k.update(func(v *Archive) { v.Unpruned = fmt.Sprintf("Old parts of the archive were not deleted: %v.", err) })
			}
			return
		}
		k.outdated = k.outdated[1:]
	}
}

// askForBase asks for a snapshot, because the newest revisions cannot be restored without one. An archiver before this one
// may have ended before it got it, or somebody has deleted it.
func (k *keeper) askForBase(ctx context.Context) {
	at, again := k.asked[k.survey.Unbroken]
	if k.archiving.look().Want != "" || again && k.job.now().Sub(at) < askAgain {
		return
	}
	k.asked[k.survey.Unbroken] = k.job.now()
	go func(revision int64) {
		_, _ = k.ask(ctx, fmt.Sprintf("no snapshot reaches the revisions after %d", revision)) // it fails only if ctx ends
	}(k.survey.Unbroken)
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
	v.Begun, v.Surveyed, v.Covered, v.Ranges, v.Delayed, v.StoreError, v.Advice = begun, k.surveyed, covered, ranges, delayed, "", k.advice
	if status.StoreError != nil {
		v.StoreError = status.StoreError.Error()
	}
	if begun && (v.Failures < archiveTolerated || now.Sub(k.began) >= archiveStable/2) {
		v.Failure, v.Failures = nil, 0
	}
	failing, unpruned := v.Failure != nil, v.Unpruned
	if begun {
		k.safeAt = status.Progress.At
	}
	k.mu.Unlock()
	k.job.metrics.count(k.key.Object, k.counted, status, now)
	k.counted = status
	reached := int64(0)
	if n := len(ranges); n > 0 && ranges[n-1].To.Revision >= k.base {
		reached = k.base
	}
	next := shape{begun, covered, delayed > 0, failing, unpruned, len(ranges), status.Timeline, reached}
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
		if p.Revision >= last.To.Revision && p.At.After(last.To.At) {
			last.To = p
		}
	}
	return ranges, true
}
