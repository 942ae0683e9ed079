package state

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Newest returns when the newest snapshot of the series was taken, and false if there is none. It ignores a snapshot in
// another folder or of another cluster, which belongs to another series, and a time in the future, which comes from a wrong
// clock.
func (s State) Newest() (time.Time, bool) {
	newest := s.Recorded()
	if newest == nil || !s.present().InSeries(newest.Path) {
		return time.Time{}, false
	}
	at, known := takenAt(*newest, s.Status.LastSuccessDate)
	return at, known && !clock.Ahead(at, s.Now)
}

// takenAt returns when a snapshot was taken, with the precision of nextTime in the status. An old status has only the time of the last success.
func takenAt(newest v1beta2.Snapshot, lastSuccess *metav1.Time) (at time.Time, known bool) {
	if at, err := time.Parse(time.RFC3339, newest.CreatedAt); err == nil {
		return at.Truncate(time.Second), true
	}
	if lastSuccess == nil {
		return time.Time{}, false
	}
	return lastSuccess.Time, true
}

// present is what the spec saves now.
func (s State) present() source.Present {
	return source.PresentOf(s.Target, s.Namespace, s.Name, s.Spec)
}

// Recorded returns the newest snapshot of the status if it is of what the spec saves now, and nil if it is not.
func (s State) Recorded() *v1beta2.Snapshot { return s.present().Newest(s.Status) }

// MovedArchive returns whether the newest snapshot in the status is not in the folder of the spec. Then the archive that the status describes is
// not there either: a user has changed the store, the bucket, the path or the cluster.
func (s State) MovedArchive() bool {
	newest := s.Recorded()
	return s.Status.Snapshot != nil && s.Problem == nil && (newest == nil || !s.present().InSeries(newest.Path))
}

// Here reports whether a path that the status reports is of what the spec saves now. An empty one counts.
func (s State) Here(path string) bool { return path == "" || s.present().Has(s.Status, path) }
