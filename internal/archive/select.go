package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Refusal means that a target cannot be restored.
type Refusal struct {
	Target Target
	Reason string
	// Before and After are the nearest points that can be restored; nil if there is none.
	Before, After *Point
	// Newest is the timeline that ended the search for a revision: it began at or before that one. It is 0 if there is none, or for a time.
	Newest Timeline
	// Unarchived: a later cluster had the revision, and the archive does not have that one.
	Unarchived bool
	// Way is what a person can do, in place of the advice for an archive. It is empty for that.
	Way string
}

// after adds the timeline that ended the search.
func (r *Refusal) after(newest Timeline) *Refusal {
	if r.Target.Revision > 0 {
		r.Newest = newest
	}
	return r
}

func (r *Refusal) unarchived() *Refusal {
	r.Unarchived = true
	return r
}

// Ended reports whether something newer ended the search, although an older timeline has a revision of that number.
func (r *Refusal) Ended() bool { return r.Newest > 0 || r.Unarchived }

func (r *Refusal) Error() string {
	text := fmt.Sprintf("%s cannot be restored: %s", r.Target, r.Reason)
	if r.Newest > 0 {
		text += fmt.Sprintf(". Timeline %d began before that. Older timelines have other data at this revision, so they are not used", r.Newest)
	}
	if r.Unarchived {
		text += ". Snapshots show that a later cluster had this revision, and it was not archived. Older timelines have other data at it, so they are not used"
	}
	switch {
	case r.Way != "":
		return text + ". " + r.Way
	case r.Before != nil && r.After != nil:
		return fmt.Sprintf("%s. Choose %s or before, or %s or after", text, r.Before, r.After)
	case r.Before != nil:
		return fmt.Sprintf("%s. Choose %s or before", text, r.Before)
	case r.After != nil:
		return fmt.Sprintf("%s. Choose %s or after", text, r.After)
	}
	if r.Unarchived {
		return text
	}
	if r.Newest > 0 {
		return text + ". No snapshot can be used as a base of that timeline now"
	}
	return text + ". The archive has no base snapshot: wait for the next one"
}

// Recoverable returns all ranges, oldest timeline first. seen are snapshots that can be no bases.
func Recoverable(histories []History, bases []Base, seen ...Seen) []Range {
	return recoverable(histories, bases, evidenceOf(startsOf(histories), bases, seen))
}

func recoverable(histories []History, bases []Base, e evidence) []Range {
	var ranges []Range
	histories = linked(histories)
	for _, h := range histories {
		for _, s := range h.spans(bases) {
			n := len(ranges)
			if n > 0 && ranges[n-1].Timeline == h.Start.Timeline && s.base.Point.Revision <= ranges[n-1].To.Revision {
				if s.to.Revision >= ranges[n-1].To.Revision {
					ranges[n-1].To = s.to
				}
				continue
			}
			ranges = append(ranges, Range{Timeline: h.Start.Timeline, From: s.base.Point, To: s.to, Lost: h.Start.Lost})
		}
	}
	for i, r := range ranges {
		at := slices.IndexFunc(histories, func(h History) bool { return h.Start.Timeline == r.Timeline })
		ranges[i] = r.hiding(append(newerThan(histories, bases, e, r.Timeline), histories[at].Start.hiddenBy(e)...))
	}
	return ranges
}

// newerThan returns the revisions that the timelines after t had.
func newerThan(histories []History, bases []Base, e evidence, t Timeline) (newer []Revisions) {
	for _, h := range histories {
		last := int64(0)
		if n := len(h.Links); n > 0 {
			last = h.Links[n-1].Header.Last
		}
		if had, counts := h.Start.hides(e, h.next, bases, h.Start.own(h.next, bases), last); counts && h.Start.Timeline > t {
			newer = append(newer, had)
		}
	}
	return newer
}

// Select returns how to reach a target, or a *Refusal. A revision is taken from the newest timeline that had it. A time is
// taken from the timeline that was the newest at that time. seen are snapshots that can be no bases.
func Select(histories []History, bases []Base, target Target, seen ...Seen) (Choice, error) {
	if len(histories) == 0 {
		return Choice{}, &Refusal{Target: target, Reason: "the archive is empty"}
	}
	histories = linked(histories)
	e := evidenceOf(startsOf(histories), bases, seen)
	for i := len(histories) - 1; i >= 0; i-- {
		h := histories[i]
		if target.Revision == 0 && h.Start.Base.At.After(target.Time) && i > 0 {
			continue // it began later
		}
		if target.Revision > 0 && hidden(h.Start.hiddenBy(e), target.Revision) {
			return Choice{}, refuse(histories, bases, e, target).unarchived()
		}
		if choice, ok := h.choose(bases, target); ok {
			return choice, nil
		}
		if target.Revision == 0 || h.had(target.Revision, bases, e) {
			return Choice{}, refuse(histories, bases, e, target).after(h.Start.Timeline)
		}
	}
	return Choice{}, refuse(histories, bases, e, target)
}

// refuse explains why no timeline has the target.
func refuse(histories []History, bases []Base, e evidence, target Target) *Refusal {
	refusal := &Refusal{Target: target, Reason: "it is outside of what the archive has"}
	shown := func(t Timeline, p Point) bool {
		return target.Revision == 0 || !hides(histories, bases, e, t, p.Revision)
	}
	for _, r := range recoverable(histories, bases, e) {
		if below(r.To, target) && shown(r.Timeline, r.To) {
			refusal.Before = &r.To
		}
		if refusal.After == nil && above(r.From, target) && shown(r.Timeline, r.From) {
			refusal.After = &r.From
		}
	}
	for _, h := range histories {
		for i, l := range h.Links {
			if reason := l.loss(target); reason != "" {
				refusal.Reason = reason
			}
			if i > 0 && l.Header.First != h.Links[i-1].Header.Last+1 {
				first, last := h.Links[i-1].Header.Last+1, l.Header.First-1
				if target.Revision >= first && target.Revision <= last {
					refusal.Reason = fmt.Sprintf("the segments of the revisions %d to %d of timeline %d are missing, or in a storage class that cannot be read", first, last, h.Start.Timeline)
				}
			}
		}
	}
	return refusal
}

// loss returns why a link cannot be replayed, if the target is in it.
func (l Link) loss(target Target) string {
	h := l.Header
	if target.Revision > 0 && (target.Revision < h.First || target.Revision > h.Last) {
		return ""
	}
	if target.Revision == 0 && (target.Time.Before(h.From().At) || target.Time.After(h.To().At)) {
		return ""
	}
	switch {
	case h.Gap():
		return fmt.Sprintf("the revisions %d to %d of timeline %d were lost: %s", h.First, h.Last, h.Timeline, h.Reason)
	case h.authChanged():
		return fmt.Sprintf("users, roles or authentication changed between the revisions %d and %d, and the archive does not have these changes", h.First, h.Last)
	}
	return ""
}

// IsRefusal reports whether an error says that a target cannot be restored.
func IsRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}

// Segments returns a function that opens the chosen links, one after the other, and then returns io.EOF. A link that was
// replaced since the choice is an error. The caller closes each Reader.
func (c Choice) Segments(store objstore.Getter, root string) func(context.Context) (*Reader, error) {
	left := c.Links
	return func(ctx context.Context) (*Reader, error) {
		if len(left) == 0 {
			return nil, io.EOF
		}
		link := left[0]
		r, err := OpenSegment(ctx, store, root, link.Key)
		if err != nil {
			return nil, err
		}
		if got, want := r.Header.Hash(), link.Header.Hash(); got != want {
			return nil, errors.Join(corruptAt(link.Header.First, link.Key, "the header has SHA-256 %s, but that of the chosen segment has %s", got, want), r.Close())
		}
		left = left[1:]
		return r, nil
	}
}
