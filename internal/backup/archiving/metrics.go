package archiving

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
)

// Metrics are those of the continuous archives.
type Metrics struct {
	lag      *prometheus.GaugeVec
	gaps     *prometheus.CounterVec
	segments *prometheus.CounterVec
	bytes    *prometheus.CounterVec

	copies *copying.Metrics
}

// NewMetrics registers the metrics of the continuous archives.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	object := []string{"namespace", "name"}
	m := &Metrics{
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_archive_lag_seconds",
			Help: "Upper limit of the age of the oldest change that is not in the continuous archive, in seconds. 0 if there is none.",
		}, object),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_archive_gaps_total",
			Help: "Number of times that etcd was compacted before the operator had archived its changes.",
		}, object),
		segments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_archive_segments_total",
			Help: "Number of objects with changes that the operator has stored in the continuous archive.",
		}, object),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_archive_bytes_total",
			Help: "Size of the objects with changes that the operator has stored in the continuous archive, in bytes.",
		}, object),
	}
	for _, c := range []prometheus.Collector{m.lag, m.gaps, m.segments, m.bytes} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the continuous archive: %w", err)
		}
	}
	var err error
	m.copies, err = copying.NewMetrics(registry)
	return m, err
}

// count adds what an archiver has stored since before.
func (m *Metrics) count(name types.NamespacedName, before, after archiver.Status, now time.Time) {
	m.lag.WithLabelValues(name.Namespace, name.Name).Set(after.Lag(now).Seconds())
	m.gaps.WithLabelValues(name.Namespace, name.Name).Add(float64(after.Gaps - before.Gaps))
	m.segments.WithLabelValues(name.Namespace, name.Name).Add(float64(after.Segments - before.Segments))
	m.bytes.WithLabelValues(name.Namespace, name.Name).Add(float64(after.Bytes - before.Bytes))
}

// stopped updates the lag of an archiver that does not run.
func (m *Metrics) stopped(name types.NamespacedName, safe, now time.Time) {
	if !safe.IsZero() {
		m.lag.WithLabelValues(name.Namespace, name.Name).Set(max(now.Sub(safe).Seconds(), 0))
	}
}

// forget deletes the metrics of an object that does not exist any more.
func (m *Metrics) forget(name types.NamespacedName) {
	if m == nil {
		return
	}
	labels := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	m.lag.DeletePartialMatch(labels)
	m.gaps.DeletePartialMatch(labels)
	m.segments.DeletePartialMatch(labels)
	m.bytes.DeletePartialMatch(labels)
	m.copies.Forget(name)
}
