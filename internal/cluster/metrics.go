package cluster

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// metrics of all EtcdClusters, and of what looking after them costs. The metrics of an EtcdCluster are deleted with it. A nil
// *metrics counts nothing.
type metrics struct {
	wanted, ready, quorum, lost, database, volume, replaced *prometheus.GaugeVec
	leaderChanges, polls                                    *prometheus.CounterVec
	// What an alert must know: why a cluster may be without members, and what a person must look at.
	paused, hibernated, starting, progressing, stalled, degraded, alarms, expires, lifetime, reason *prometheus.GaugeVec
	// writes to the Kubernetes API, of all EtcdClusters together.
	writes *prometheus.CounterVec
}

// RegisterMetrics registers the metrics without a controller, for the reference.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMetrics(registry)
	return err
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	object := []string{"namespace", "name"}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		wanted:        gauge("etcd_operator_cluster_members_wanted", "Number of members that the spec asks for.", object...),
		ready:         gauge("etcd_operator_cluster_members_ready", "Number of members that serve clients.", object...),
		quorum:        gauge("etcd_operator_cluster_has_quorum", "1 while a quorum of members answers, else 0. Absent while the operator cannot reach members whose Pods are ready.", object...),
		lost:          gauge("etcd_operator_cluster_quorum_lost", "1 while quorum is lost and does not come back by itself, else 0.", object...),
		database:      gauge("etcd_operator_cluster_database_bytes", "Size of the largest database file of a member, in bytes.", object...),
		volume:        gauge("etcd_operator_cluster_volume_bytes", "Size of the smallest volume of a member, in bytes.", object...),
		replaced:      gauge("etcd_operator_cluster_replaced_volumes", "Number of volumes with data from before a restore or a recovery that are kept for some time.", object...),
		paused:        gauge("etcd_operator_cluster_paused", "1 while spec.paused is true, else 0.", object...),
		hibernated:    gauge("etcd_operator_cluster_hibernated", "1 while spec.hibernate is true, else 0.", object...),
		starting:      gauge("etcd_operator_cluster_starting", "1 until a new cluster has formed, else 0.", object...),
		progressing:   gauge("etcd_operator_cluster_progressing", "1 while the operator changes something, else 0.", object...),
		stalled:       gauge("etcd_operator_cluster_stalled", "1 while the operator waits until a person acts, else 0.", object...),
		degraded:      gauge("etcd_operator_cluster_degraded", "1 while a member is missing or does not serve, else 0. Absent while that is unknown.", object...),
		alarms:        gauge("etcd_operator_cluster_alarms", "Number of members with an alarm of etcd, by alarm: NOSPACE or CORRUPT.", append(object, "alarm")...),
		expires:       gauge("etcd_operator_cluster_certificate_expiry_timestamp_seconds", "When the first certificate of members and clients expires, in Unix time. Absent without TLS.", object...),
		lifetime:      gauge("etcd_operator_cluster_certificate_lifetime_seconds", "How long that certificate is valid in all, in seconds. Absent without TLS.", object...),
		reason:        gauge("etcd_operator_cluster_ready_reason", "Always 1. The label reason is that of the condition Ready.", append(object, "reason")...),
		leaderChanges: counter("etcd_operator_cluster_leader_changes_total", "Number of times that another member was seen to lead than before.", object...),
		polls:         counter("etcd_operator_cluster_member_polls_total", "Number of times that a member was asked for its status.", object...),
		writes:        counter("etcd_operator_cluster_api_writes_total", "Number of writes to the Kubernetes API, without events and leader election, by verb and kind.", "verb", "kind"),
	}
	if registry == nil {
		return m, nil
	}
	for _, c := range append(m.gauges(), m.leaderChanges, m.polls, m.writes) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) gauges() []prometheus.Collector {
	return []prometheus.Collector{
		m.wanted, m.ready, m.quorum, m.lost, m.database, m.volume, m.replaced,
		m.paused, m.hibernated, m.starting, m.progressing, m.stalled, m.degraded, m.alarms, m.expires, m.lifetime, m.reason,
	}
}

// reported sets what the conditions say. s is what the pass saw.
func (m *metrics) reported(s plan.State, status v1beta2.EtcdClusterStatus) {
	if m == nil || s.Deleting {
		return
	}
	for kind, gauge := range map[string]*prometheus.GaugeVec{
		v1beta2.ConditionProgressing: m.progressing, v1beta2.ConditionStalled: m.stalled, v1beta2.ConditionDegraded: m.degraded,
	} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Status == metav1.ConditionUnknown {
			gauge.DeleteLabelValues(s.Namespace, s.Name)
			continue
		}
		gauge.WithLabelValues(s.Namespace, s.Name).Set(number(c.Status == metav1.ConditionTrue))
	}
	m.reason.DeletePartialMatch(labelsOf(s.Namespace, s.Name))
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady); c != nil {
		m.reason.WithLabelValues(s.Namespace, s.Name, c.Reason).Set(1)
	}
	m.starting.WithLabelValues(s.Namespace, s.Name).Set(number(status.ClusterID == ""))
}

// sawSpec sets what the spec asks for, and what the members and certificates show.
func (m *metrics) sawSpec(s plan.State) {
	m.wanted.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Spec.Size))
	m.paused.WithLabelValues(s.Namespace, s.Name).Set(number(s.Spec.Paused))
	m.hibernated.WithLabelValues(s.Namespace, s.Name).Set(number(s.Spec.Hibernate))
	m.starting.WithLabelValues(s.Namespace, s.Name).Set(number(!s.Formed()))
	for _, kind := range []etcd.AlarmKind{etcd.AlarmNoSpace, etcd.AlarmCorrupt} {
		m.alarms.WithLabelValues(s.Namespace, s.Name, string(kind)).Set(float64(len(s.Alarms(kind))))
	}
	if at := s.Certificates.Expires; at.IsZero() {
		m.expires.DeleteLabelValues(s.Namespace, s.Name)
		m.lifetime.DeleteLabelValues(s.Namespace, s.Name)
	} else {
		m.expires.WithLabelValues(s.Namespace, s.Name).Set(float64(at.Unix()))
		m.lifetime.WithLabelValues(s.Namespace, s.Name).Set(s.Certificates.Lifetime.Seconds())
	}
}

// saw says what a pass saw. before is the status that the pass began with.
func (m *metrics) saw(s plan.State, before v1beta2.EtcdClusterStatus) {
	if m == nil || s.Deleting {
		return
	}
	m.sawQuorum(s)
	m.sawSpec(s)
	m.ready.WithLabelValues(s.Namespace, s.Name).Set(float64(readyMembers(s)))
	m.replaced.WithLabelValues(s.Namespace, s.Name).Set(float64(len(s.SetAside)))
	database, volume, leader := int64(0), int64(0), ""
	for _, member := range s.Current() {
		if member.Leader {
			leader = member.Name
		}
		database = max(database, member.DBSize)
		if member.VolumeCapacity > 0 && (volume == 0 || member.VolumeCapacity < volume) {
			volume = member.VolumeCapacity
		}
	}
	if database > 0 {
		m.database.WithLabelValues(s.Namespace, s.Name).Set(float64(database))
	}
	if volume > 0 {
		m.volume.WithLabelValues(s.Namespace, s.Name).Set(float64(volume))
	}
	changes := m.leaderChanges.WithLabelValues(s.Namespace, s.Name)
	for _, member := range before.MemberStatuses {
		if member.Role == v1beta2.MemberLeader && leader != "" && leader != member.Name {
			changes.Inc()
		}
	}
}

// sawQuorum keeps the last answer while members are silent for a short time, and gives none while they are silent for longer.
func (m *metrics) sawQuorum(s plan.State) {
	switch unreachable, briefly := s.QuorumUnknown(); {
	case briefly:
	case unreachable:
		m.quorum.DeleteLabelValues(s.Namespace, s.Name)
	default:
		m.quorum.WithLabelValues(s.Namespace, s.Name).Set(number(s.MembershipKnown || s.Guarded()))
	}
	m.lost.WithLabelValues(s.Namespace, s.Name).Set(number(s.QuorumLost()))
}

// readyMembers counts the members that serve. While the operator cannot reach them, their readiness probes tell.
func readyMembers(s plan.State) int {
	unreachable, _ := s.QuorumUnknown()
	ready := 0
	for _, member := range s.Current() {
		if (member.Serving || unreachable) && member.PodReady {
			ready++
		}
	}
	return ready
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// polled counts that a member of a cluster was asked.
func (m *metrics) polled(namespace, name string) {
	if m != nil {
		m.polls.WithLabelValues(namespace, name).Inc()
	}
}

// forget drops what was said of an EtcdCluster that is gone.
func (m *metrics) forget(name types.NamespacedName) {
	if m == nil {
		return
	}
	labels := labelsOf(name.Namespace, name.Name)
	for _, c := range append(m.gauges(), m.leaderChanges, m.polls) {
		if v, ok := c.(interface{ DeletePartialMatch(prometheus.Labels) int }); ok {
			v.DeletePartialMatch(labels)
		}
	}
}

func labelsOf(namespace, name string) prometheus.Labels {
	return prometheus.Labels{"namespace": namespace, "name": name}
}
