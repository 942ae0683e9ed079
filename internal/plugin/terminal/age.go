package terminal

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Stamp returns a time as people write it in flags: RFC 3339 in UTC.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Ago returns the age of a time, or the time until it, in the units of kubectl.
func Ago(now, at time.Time) string {
	if at.After(now) {
		return "in " + duration.HumanDuration(at.Sub(now))
	}
	return duration.HumanDuration(now.Sub(at)) + " ago"
}
