package backup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

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

// holesShown is how many holes the status names.
const holesShown = 3

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

// unrestorable reports what of an archive cannot be restored: the timelines whose start cannot be read, and the holes. It is empty if there is none.
func unrestorable(survey archive.Survey) string {
	var named []string
	for i, u := range survey.Unreadable {
		if i == holesShown {
			named = append(named, fmt.Sprintf("starts of other timelines: %d more", len(survey.Unreadable)-holesShown))
			break
		}
		named = append(named, u.String())
	}
	if holes := holed(survey.Holes); holes != "" {
		named = append(named, holes)
	}
	return strings.Join(named, "; ")
}
