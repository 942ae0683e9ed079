package backup

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// metrics of all EtcdBackups. Their labels are names of objects and the API's reasons, so their number is limited. The
// metrics of an object are deleted with it.
type metrics struct {
	newest   *prometheus.GaugeVec
	bytes    *prometheus.GaugeVec
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
	drill    *prometheus.GaugeVec
	passed   *prometheus.GaugeVec
	next     *prometheus.GaugeVec
	created  *prometheus.GaugeVec
	waited   *prometheus.HistogramVec
	copies   *prometheus.GaugeVec
	uncopied *prometheus.CounterVec

	info, has, overdue, suspended, failed *prometheus.GaugeVec
	copyState, copyOverdue                *prometheus.GaugeVec
	archiving, maxLag, archiveProven      *prometheus.GaugeVec
	archiveCopied                         *prometheus.GaugeVec
}

// RegisterMetrics registers the metrics without a controller, for the reference.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMetrics(registry)
	_, archiveErr := archiving.NewMetrics(registry)
	return errors.Join(err, archiveErr, queue.WatchSpool(registry, nil), queue.WatchQueue(registry, nil, queue.LaneSnapshot))
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	object := []string{"namespace", "name"}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(object, "reason"))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		info: gauge("etcd_operator_backup_info", "Always 1. The label cluster is the EtcdCluster that the EtcdBackup saves, or empty.", append(object, "cluster")...),
		has:  gauge("etcd_operator_backup_has_snapshot", "1 if the EtcdBackup has a verified snapshot, else 0.", object...),
		overdue: gauge("etcd_operator_backup_overdue_timestamp_seconds",
			"When a series has missed two snapshots, in Unix time. It moves with each new snapshot. Absent while the series is suspended.", object...),
		suspended: gauge("etcd_operator_backup_suspended", "1 while backupPolicy.suspend is true, else 0.", object...),
		failed:    gauge("etcd_operator_backup_failed", "1 if the EtcdBackup has failed, else 0.", object...),
		newest: gauge("etcd_operator_backup_newest_snapshot_timestamp_seconds",
			"When the newest verified snapshot was taken, in Unix time. Its age is time() minus this value.", object...),
		bytes:  gauge("etcd_operator_backup_newest_snapshot_bytes", "Size of the newest verified snapshot, in bytes.", object...),
		drill:  gauge("etcd_operator_backup_last_restore_test_timestamp_seconds", "When the last restore test of a snapshot ended, in Unix time.", object...),
		passed: gauge("etcd_operator_backup_last_restore_test_passed", "1 if the last restore test of a snapshot passed, else 0.", object...),
		next:   gauge("etcd_operator_backup_next_timestamp_seconds", "When the next snapshot or attempt is due, in Unix time. 0 if none is due.", object...),
		created: gauge("etcd_operator_backup_created_timestamp_seconds",
			"When the EtcdBackup of a series was created, in Unix time. It stands for the newest snapshot while there is none.", object...),
		copies: gauge("etcd_operator_backup_copy_newest_snapshot_timestamp_seconds",
			"When the newest snapshot was taken that is in the second location, in Unix time.", object...),
		copyState: gauge("etcd_operator_backup_copied", "1 if the condition Copied is True, else 0. Absent without copyTo, and before the first attempt to copy.", object...),
		copyOverdue: gauge("etcd_operator_backup_copy_overdue_timestamp_seconds",
			"When the second location lacks two snapshots of a series, in Unix time. It moves with each new copy. Absent without a copy, and while the series is suspended.", object...),
		archiving: gauge("etcd_operator_archive_archiving",
			"1 if the condition Archiving is True, else 0. Absent while nothing is to be archived, for example without continuous or while the series is suspended.", object...),
		maxLag: gauge("etcd_operator_archive_max_lag_seconds",
			"continuous.maxLag, in seconds. Absent while nothing is to be archived, for example while the series is suspended.", object...),
		archiveProven: gauge("etcd_operator_archive_last_proof_passed", "0 if the last proof of the continuous archive failed, else 1. Absent without continuous, and before the first proof.", object...),
		archiveCopied: gauge("etcd_operator_archive_copied",
			"1 if the condition ArchiveCopied is True, else 0. Absent without copyTo or continuous, and before the first snapshot was copied.", object...),
		failures: counter("etcd_operator_backup_failures_total", "Number of failed attempts, by the reason in the status."),
		uncopied: counter("etcd_operator_backup_copy_failures_total",
			"Number of failed attempts to copy snapshots to the second location, by the reason in the status."),
		duration: histogram("etcd_operator_backup_duration_seconds", "How long the attempts took that ended with a verified snapshot.",
			prometheus.ExponentialBuckets(0.25, 2, 12), object...),
		waited: histogram("etcd_operator_backup_queue_wait_seconds",
			"How long attempts waited for a worker of the operator, by lane: snapshot, verification, restore-test, purge or copy.",
			prometheus.ExponentialBuckets(1, 4, 8), "lane"),
	}
	for _, c := range append(m.ofObjects(), m.waited) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// ofObjects are the metrics that are deleted with an EtcdBackup.
func (m *metrics) ofObjects() []prometheus.Collector {
	return []prometheus.Collector{
		m.newest, m.bytes, m.duration, m.failures, m.drill, m.passed, m.next, m.created, m.copies, m.uncopied,
		m.info, m.has, m.overdue, m.suspended, m.failed, m.copyState, m.copyOverdue, m.archiving, m.maxLag, m.archiveProven, m.archiveCopied,
	}
}

// reported updates what an alert must know from a status that was written.
func (m *metrics) reported(s state.State, status v1beta2.EtcdBackupStatus) {
	s.Status = status
	cluster := ""
	if s.Spec.EtcdCluster != nil {
		cluster = s.Spec.EtcdCluster.Name
	}
	m.info.DeletePartialMatch(prometheus.Labels{"namespace": s.Namespace, "name": s.Name})
	m.info.WithLabelValues(s.Namespace, s.Name, cluster).Set(1)
	set := func(gauge *prometheus.GaugeVec, is bool) { setIf(gauge, s, true, number(is)) }
	set(m.has, status.Snapshot != nil)
	set(m.suspended, s.Suspended())
	set(m.failed, meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionFailed))
	setTime(m.overdue, s, plan.Overdue(s))
	m.reportedCopies(s)
	m.reportedArchive(s)
}

// reportedCopies updates what the alert about the second location depends on. s has the new status.
func (m *metrics) reportedCopies(s state.State) {
	newest, overdue := time.Time{}, time.Time{}
	if c := s.Status.Copies; c != nil {
		newest = takenAt(c.Newest)
	}
	if !newest.IsZero() {
		overdue = plan.OverdueSince(s, newest)
	}
	setTime(m.copies, s, newest)
	setTime(m.copyOverdue, s, overdue)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionCopied)
	setIf(m.copyState, s, c != nil, number(c != nil && c.Status == metav1.ConditionTrue))
	c = state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiveCopied)
	setIf(m.archiveCopied, s, c != nil, number(c != nil && c.Status == metav1.ConditionTrue))
}

// reportedArchive updates what the alerts about the continuous archive depend on. s has the new status.
func (m *metrics) reportedArchive(s state.State) {
	setIf(m.archiveProven, s, s.Spec.Continuous != nil && s.Status.LastArchiveProof != nil, number(state.Distrusted(s) == nil))
	if !s.Archived() {
		m.archiving.DeleteLabelValues(s.Namespace, s.Name)
		m.maxLag.DeleteLabelValues(s.Namespace, s.Name)
		return
	}
	setIf(m.archiving, s, true, number(meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionArchiving)))
	setIf(m.maxLag, s, true, state.MaxLag(s.Spec.Continuous).Seconds())
}

// setIf sets a gauge of an EtcdBackup, or deletes it if there is nothing to measure.
func setIf(gauge *prometheus.GaugeVec, s state.State, is bool, value float64) {
	if is {
		gauge.WithLabelValues(s.Namespace, s.Name).Set(value)
	} else {
		gauge.DeleteLabelValues(s.Namespace, s.Name)
	}
}

// setTime sets a gauge of an EtcdBackup to a time, or deletes it if the time is zero.
func setTime(gauge *prometheus.GaugeVec, s state.State, at time.Time) {
	setIf(gauge, s, !at.IsZero(), float64(at.Unix()))
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// takenAt returns when a snapshot was taken. It is zero if that is not known.
func takenAt(snapshot *v1beta2.Snapshot) time.Time {
	if snapshot == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, snapshot.CreatedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}

// proven updates the metrics of the newest snapshot from the status, which an earlier process may have written.
func (m *metrics) proven(s state.State) {
	if d := s.Status.LastDrill; d != nil {
		m.drill.WithLabelValues(s.Namespace, s.Name).Set(float64(d.Time.Unix()))
		m.passed.WithLabelValues(s.Namespace, s.Name).Set(number(d.Result == v1beta2.DrillPassed))
	}
	if s.Series() {
		next := 0.0
		if s.Status.NextTime != nil {
			next = float64(s.Status.NextTime.Unix())
		}
		m.next.WithLabelValues(s.Namespace, s.Name).Set(next)
		m.created.WithLabelValues(s.Namespace, s.Name).Set(float64(s.CreatedAt.Unix()))
	}
	snapshot := s.Status.Snapshot
	if snapshot == nil {
		return
	}
	m.bytes.WithLabelValues(s.Namespace, s.Name).Set(float64(snapshot.Size))
	if at := takenAt(snapshot); !at.IsZero() {
		m.newest.WithLabelValues(s.Namespace, s.Name).Set(float64(at.Unix()))
	}
}

// ended counts an attempt.
func (m *metrics) ended(s state.State) {
	switch r := s.Attempt.Result; {
	case r.Failure != nil:
		m.failures.WithLabelValues(s.Namespace, s.Name, r.Failure.Reason).Inc()
	case s.Attempt.Kind == state.KindSnapshot && !r.Found:
		m.duration.WithLabelValues(s.Namespace, s.Name).Observe(r.EndedAt.Sub(s.Attempt.StartedAt).Seconds())
	}
}

// copied counts a failed copy.
func (m *metrics) copied(s state.State) {
	if f := s.Copy.Result.Failure; f != nil {
		m.uncopied.WithLabelValues(s.Namespace, s.Name, f.Reason).Inc()
	}
}

// forget deletes the metrics of an object that does not exist any more.
func (m *metrics) forget(name types.NamespacedName) {
	labels := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	for _, c := range m.ofObjects() {
		if v, ok := c.(interface{ DeletePartialMatch(prometheus.Labels) int }); ok {
			v.DeletePartialMatch(labels)
		}
	}
}
