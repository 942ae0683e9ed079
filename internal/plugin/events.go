package plugin

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// EventsOf returns the events of objects by time. Objects are named "Kind name".
func EventsOf(objects []string, all []corev1.Event) []corev1.Event {
	found := slices.DeleteFunc(slices.Clone(all), func(e corev1.Event) bool {
		return !slices.Contains(objects, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name)
	})
	slices.SortStableFunc(found, func(a, b corev1.Event) int { return EventTime(a).Compare(EventTime(b)) })
	return found
}

// EventTime returns the last time of an event.
func EventTime(e corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
