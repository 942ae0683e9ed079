package restore

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// metrics of all EtcdRestores. Their labels are names of objects and the API's reasons, so their number is limited.
type metrics struct {
	finished *prometheus.CounterVec
	duration prometheus.Histogram
	bytes    prometheus.Counter
	underWay *prometheus.GaugeVec
	failed   *prometheus.GaugeVec
	lag      *prometheus.GaugeVec
	followed *prometheus.GaugeVec
	follows  *prometheus.GaugeVec
}

// RegisterMetrics registers the metrics without a controller, for the reference.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMetrics(registry)
	return err
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_operator_restore_finished_total",
			Help: "Number of finished EtcdRestores, by the reason in their status: Complete, or the reason of the failure.",
		}, []string{"reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "etcd_operator_restore_duration_seconds",
			Help:    "How long an EtcdRestore took until it was complete, counted from status.startTime.",
			Buckets: prometheus.ExponentialBuckets(4, 2, 12),
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "etcd_operator_restore_verified_bytes_total",
			Help: "Total size of the snapshots that were read and verified, in bytes.",
		}),
		underWay: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_restore_under_way",
			Help: "1 for each EtcdRestore that has neither completed nor failed, by the reason in its status.",
		}, []string{"namespace", "name", "reason"}),
		failed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_restore_failed",
			Help: "1 for each EtcdRestore that has failed, until it is deleted, by the reason in its status. The label dry_run is true with spec.dryRun, else false.",
		}, []string{"namespace", "name", "reason", "dry_run"}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_restore_follow_lag_seconds",
			Help: "How far a standby is behind the continuous archive that it follows, until it is promoted.",
		}, []string{"namespace", "name"}),
		followed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcd_operator_restore_follow_revision",
			Help: "Last revision that a standby has of its source, until it is promoted.",
		}, []string{"namespace", "name"}),
	}
	m.follows = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "etcd_operator_restore_following",
		Help: "1 for each standby that has what is in the archive it follows, and 0 if it is behind, until it is promoted: the condition Following.",
	}, []string{"namespace", "name"})
	for _, c := range []prometheus.Collector{m.finished, m.duration, m.bytes, m.underWay, m.failed, m.lag, m.followed, m.follows} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// reported updates the metrics after the status was written.
func (m *metrics) reported(before, after *v1beta2.EtcdRestore) {
	m.forget(after.Namespace, after.Name)
	reason := readyReason(after.Status)
	if meta.IsStatusConditionTrue(after.Status.Conditions, v1beta2.ConditionFailed) {
		m.failed.WithLabelValues(after.Namespace, after.Name, reason, strconv.FormatBool(after.Spec.DryRun)).Set(1)
	}
	if before.Status.Snapshot == nil && after.Status.Snapshot != nil {
		m.bytes.Add(float64(after.Status.Snapshot.Size))
	}
	switch {
	case after.Status.CompletionTime == nil:
		m.underWay.WithLabelValues(after.Namespace, after.Name, reason).Set(1)
		m.following(after)
		return
	case before.Status.CompletionTime != nil || before.Status.Succeeded: // Succeeded: another operator finished it
		return
	}
	m.finished.WithLabelValues(reason).Inc()
	if after.Status.Succeeded {
		m.duration.Observe(after.Status.CompletionTime.Sub(after.Status.StartTime.Time).Seconds())
	}
}

// following shows how far a standby is.
func (m *metrics) following(restore *v1beta2.EtcdRestore) {
	f := restore.Status.Follow
	if condition := meta.FindStatusCondition(restore.Status.Conditions, v1beta2.ConditionFollowing); condition != nil && (f == nil || f.Promoted == nil) {
		m.follows.WithLabelValues(restore.Namespace, restore.Name).Set(map[bool]float64{true: 1}[condition.Status == metav1.ConditionTrue])
	}
	if f == nil || f.Promoted != nil || f.Revision == 0 || f.LagSeconds == nil {
		return
	}
	m.lag.WithLabelValues(restore.Namespace, restore.Name).Set(float64(*f.LagSeconds))
	m.followed.WithLabelValues(restore.Namespace, restore.Name).Set(float64(f.Revision))
}

func (m *metrics) forget(namespace, name string) {
	for _, v := range []*prometheus.GaugeVec{m.underWay, m.failed, m.lag, m.followed, m.follows} {
		v.DeletePartialMatch(prometheus.Labels{"namespace": namespace, "name": name})
	}
}

func readyReason(status v1beta2.EtcdRestoreStatus) string {
	for _, c := range status.Conditions {
		if c.Type == v1beta2.ConditionReady {
			return c.Reason
		}
	}
	return ""
}
