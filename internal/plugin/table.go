package plugin

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// SnapshotTable prints snapshots for a person. everywhere adds the namespace.
func SnapshotTable(out io.Writer, all []Saved, wide, everywhere bool, now time.Time) error {
	header := []string{"TAKEN", "REVISION", "KEYS", "SIZE", "RESTORE TEST", "BACKUP", "SNAPSHOT"}
	if wide {
		header = append(header, "ETCD", "CLUSTER ID", "SHA256", "SIGNED BY")
	}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, s := range all {
		taken, name := "-", s.Path[strings.LastIndex(s.Path, "/")+1:]
		if at, ok := s.Taken(); ok {
			taken = ago(now, at)
		}
		test := or(string(s.RestoreTest))
		if s.NoQuorum {
			test += " (no quorum)"
		}
		if wide {
			name = s.Path
		}
		row := []string{taken, strconv.FormatInt(s.Revision, 10), strconv.FormatInt(s.Keys, 10), bytes(s.Size), test, s.Backup, name}
		if wide {
			row = append(row, or(s.EtcdVersion), or(s.ClusterID), or(s.SHA256), or(s.SignedBy))
		}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	return Table(out, header, rows)
}

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
