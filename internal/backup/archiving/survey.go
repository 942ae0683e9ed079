package archiving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

const (
	// rangesShown is how many ranges the status lists.
	rangesShown = 16
	// holesShown is how many holes the status names.
	holesShown = 3
)

// found is what the store has of an archive.
type found struct {
	survey archive.Survey
	index  catalog.Index
	bases  []archive.Base
	proofs []archive.ProofName
	last   *v1beta2.ArchiveProof
}

// unread reports that the archive could not be read. The keeper looks again after a time.
func (k *keeper) unread(err error) bool {
	k.next = k.job.Now().Add(limits.Retry)
	k.update(func(v *state.Archive) {
		v.Unread, v.Corrupt = planning.Sentence("The operator could not read the archive: ", err.Error()), errors.Is(err, archive.ErrCorrupt)
	})
	return false
}

// surveyOf reads an archive and its bases. All of it is in the store, so it is the same if the status was lost.
func surveyOf(ctx context.Context, store objstore.Store, o state.JobSpec, known catalog.Known) (f found, err error) {
	if f.index, f.bases, err = basesOf(ctx, store, o, known, o.Keep.Window); err != nil {
		return f, err
	}
	if f.proofs, err = proofs.List(ctx, store, o.ArchiveRoot()); err != nil {
		return f, err
	}
	if f.last, err = verify.LastProof(ctx, store, o, f.proofs); err != nil {
		return f, err
	}
	var cold []archive.ColdBase
	if f.bases, cold, err = readable(ctx, store, f.index, f.bases); err != nil {
		return f, err
	}
	lost := proofs.Unreturned(ctx, store, o.ArchiveRoot(), f.proofs)
	f.survey, err = archive.LookAgain(ctx, store, o.ArchiveRoot(), lost, f.bases, rangesShown, seenBy(o, f.index, known)...)
	f.survey.ColdBases = within(cold, f.index, o.Keep.Window)
	return f, err
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
	case slices.ContainsFunc(survey.Unreadable, func(u archive.Unreadable) bool { return u.Timeline == now.Timeline }):
		return fmt.Errorf("the store does not return the start object of timeline %d, so another timeline may have to begin", now.Timeline)
	case newest > now.Timeline:
		return fmt.Errorf("%w: it has begun timeline %d", archiver.ErrFenced, newest)
	}
	return nil
}

// startless reports timelines without a start object. It is empty if there is none.
func startless(timelines []archive.Timeline) string {
	if len(timelines) == 0 {
		return ""
	}
	named, more := timelines[:min(len(timelines), rangesShown)], ""
	if n := len(timelines) - len(named); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("These timelines of the archive have no start object, so nothing of them can be restored: %s%s.", strings.Trim(fmt.Sprint(named), "[]"), more)
}

// partial reports an archive with more segments than a survey holds. It is empty if that has all.
func partial(survey archive.Survey) string {
	n := survey.Omitted()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("The archive has more segments than the operator holds in memory, so status.recoverable may lack the oldest %d of them. They can still be restored. "+
		"To store fewer segments, shorten continuous.window or lengthen continuous.maxLag, and check that the store permits deletions.", n)
}

func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// holed reports the parts of an archive that cannot be restored, newest first. It is empty if there is none.
func holed(holes []archive.Hole) string {
	var named []string
	for _, hole := range slices.Backward(holes) {
		if len(named) == holesShown {
			named = append(named, fmt.Sprintf("older parts: %d more", len(holes)-holesShown))
			break
		}
		named = append(named, hole.String())
	}
	return strings.Join(named, "; ")
}

// unrestorable reports what of an archive cannot be restored: the timelines whose start cannot be read, the snapshots that cannot, and the holes. It is empty if there is none.
func unrestorable(survey archive.Survey) string {
	var named []string
	for i, u := range survey.Unreadable {
		if i == holesShown {
			named = append(named, fmt.Sprintf("starts of other timelines: %d more", len(survey.Unreadable)-holesShown))
			break
		}
		named = append(named, u.String())
	}
	for i, c := range survey.ColdBases {
		if i == holesShown {
			named = append(named, fmt.Sprintf("other snapshots: %d more", len(survey.ColdBases)-holesShown))
			break
		}
		named = append(named, c.String())
	}
	if holes := holed(survey.Holes); holes != "" {
		named = append(named, holes)
	}
	return strings.Join(named, "; ")
}
