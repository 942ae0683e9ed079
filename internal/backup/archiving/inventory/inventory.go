// Package inventory reads what a store has of a continuous archive: what can be restored, what that needs, and what nothing needs.
package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Found is what the store has of an archive.
type Found struct {
	Survey archive.Survey
	Index  catalog.Index
	Bases  []archive.Base
	Proofs []archive.ProofName
	Last   *v1beta2.ArchiveProof
}

// Of reads an archive and its bases. All of it is in the store, so it is the same if the status was lost.
func Of(ctx context.Context, store objstore.Store, o state.JobSpec, known catalog.Known) (f Found, err error) {
	if f.Index, f.Bases, err = Bases(ctx, store, o, known, o.Keep.Window); err != nil {
		return f, err
	}
	if f.Proofs, err = proofs.List(ctx, store, o.ArchiveRoot()); err != nil {
		return f, err
	}
	if f.Last, err = verify.LastProof(ctx, store, o, f.Proofs); err != nil {
		return f, err
	}
	var cold []archive.ColdBase
	if f.Bases, cold, err = readable(ctx, store, f.Index, f.Bases); err != nil {
		return f, err
	}
	lost := proofs.Unreturned(ctx, store, o.ArchiveRoot(), f.Proofs)
	f.Survey, err = archive.LookAgain(ctx, store, o.ArchiveRoot(), lost, f.Bases, RangesShown, seenBy(o, f.Index, known)...)
	f.Survey.ColdBases = within(cold, f.Index, o.Keep.Window)
	return f, err
}

// Astray returns why an archiver extends a timeline from which nothing new can be restored: its start was deleted or cannot be read, or another archiver has
// begun the next one.
func Astray(survey archive.Survey, now archiver.Status) error {
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

// Extended returns the ranges of a survey with the present end of the archive, and whether a base reaches that end.
func Extended(s archive.Survey, status archiver.Status) ([]archive.Range, bool) {
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
