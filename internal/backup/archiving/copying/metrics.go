package copying

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Metrics are those of the copies.
type Metrics struct {
	lag            *prometheus.GaugeVec
	objects, bytes *prometheus.CounterVec
}

// NewMetrics registers the metrics of the copies.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	object := []string{"namespace", "name"}
	m := &Metrics{
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_archive_copy_lag_seconds",
			Help: "Upper limit of the age of the oldest change that is not in the copy of the continuous archive in the second location, in seconds. 0 if there is none.",
		}, object),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_archive_copy_segments_total",
			Help: "Number of objects with changes that the operator has copied to the second location.",
		}, object),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_archive_copy_bytes_total",
			Help: "Size of the objects with changes that the operator has copied to the second location, in bytes.",
		}, object),
	}
	for _, c := range []prometheus.Collector{m.lag, m.objects, m.bytes} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the copies of an archive: %w", err)
		}
	}
	return m, nil
}

// Forget deletes the metrics of an object that does not exist any more.
func (m *Metrics) Forget(name types.NamespacedName) {
	labels := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	m.lag.DeletePartialMatch(labels)
	m.objects.DeletePartialMatch(labels)
	m.bytes.DeletePartialMatch(labels)
}

// copied counts an object that was copied to the second location.
func (m *Metrics) copied(name types.NamespacedName, bytes int64) {
	m.objects.WithLabelValues(name.Namespace, name.Name).Inc()
	m.bytes.WithLabelValues(name.Namespace, name.Name).Add(float64(bytes))
}

// lags updates the lag of the second location. It is absent while it is not known.
func (m *Metrics) lags(name types.NamespacedName, lag time.Duration, known bool) {
	if !known {
		m.lag.DeleteLabelValues(name.Namespace, name.Name)
		return
	}
	m.lag.WithLabelValues(name.Namespace, name.Name).Set(lag.Seconds())
}

// uncopied deletes the lag of the second location, if the archive is not copied any more.
func (m *Metrics) uncopied(name types.NamespacedName) {
	m.lag.DeleteLabelValues(name.Namespace, name.Name)
}
