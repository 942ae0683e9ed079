package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

const (
	// RangesShown is how many ranges the status lists.
	RangesShown = 16
	// holesShown is how many holes the status names.
	holesShown = 3
)

// Startless reports timelines without a start object. It is empty if there is none.
func Startless(timelines []archive.Timeline) string {
	if len(timelines) == 0 {
		return ""
	}
	named, more := timelines[:min(len(timelines), RangesShown)], ""
	if n := len(timelines) - len(named); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("These timelines of the archive have no start object, so nothing of them can be restored: %s%s.", strings.Trim(fmt.Sprint(named), "[]"), more)
}

// Partial reports an archive with more segments than a survey holds. It is empty if that has all.
func Partial(survey archive.Survey) string {
	n := survey.Omitted()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("The archive has more segments than the operator holds in memory, so status.recoverable may lack the oldest %d of them. They can still be restored. "+
		"To store fewer segments, shorten continuous.window or lengthen continuous.maxLag, and check that the store permits deletions.", n)
}

// Sentences joins sentences, of which some may be empty.
func Sentences(all ...string) string {
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

// Unrestorable reports what of an archive cannot be restored: the timelines whose start cannot be read, the snapshots that cannot, and the holes. It is empty if there is none.
func Unrestorable(survey archive.Survey) string {
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
