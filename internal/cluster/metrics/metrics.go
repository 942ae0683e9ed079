// Package metrics has the metrics of all EtcdClusters, and counts the writes to the Kubernetes API.
package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Metrics of all EtcdClusters, and of what looking after them costs. The metrics of an EtcdCluster are deleted with it. A nil
// *Metrics counts nothing.
type Metrics struct {
	wanted, ready, quorum, lost, database, volume, replaced *gauges
	leaderChanges, polls                                    *prometheus.CounterVec
	// What an alert must know: why a cluster may be without members, and what a person must look at.
	paused, readOnly, hibernated, starting, restoring, progressing, stalled, degraded, alarms, expires, lifetime, plainText, reason *gauges
	// Writes to the Kubernetes API, of all EtcdClusters together.
	Writes *prometheus.CounterVec
}

// New registers the metrics. Without a registry, nothing reads them.
func New(registry prometheus.Registerer) (*Metrics, error) {
	object := []string{"namespace", "name"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		wanted:        newGauges("etcd_operator_cluster_members_wanted", "Number of members that the spec asks for."),
		ready:         newGauges("etcd_operator_cluster_members_ready", "Number of members that serve clients."),
		quorum:        newGauges("etcd_operator_cluster_has_quorum", "1 while a quorum of members answers, else 0. Absent while the operator cannot reach members whose Pods are ready."),
		lost:          newGauges("etcd_operator_cluster_quorum_lost", "1 while quorum is lost and only a person can restore it, else 0."),
		database:      newGauges("etcd_operator_cluster_database_bytes", "Size of the largest database file of a member, in bytes."),
		volume:        newGauges("etcd_operator_cluster_volume_bytes", "Size of the smallest volume of a member, in bytes."),
		replaced:      newGauges("etcd_operator_cluster_replaced_volumes", "Number of volumes with data from before a restore or a recovery."),
		paused:        newGauges("etcd_operator_cluster_paused", "1 while spec.paused is true, else 0."),
		readOnly:      newGauges("etcd_operator_cluster_read_only", "1 while etcd refuses all writes because of spec.readOnly, else 0. Absent while no member answers."),
		hibernated:    newGauges("etcd_operator_cluster_hibernated", "1 while spec.hibernate is true, else 0."),
		starting:      newGauges("etcd_operator_cluster_starting", "1 until a new cluster has formed, else 0."),
		restoring:     newGauges("etcd_operator_cluster_restoring", "1 while an EtcdRestore replaces the data of the cluster, else 0."),
		progressing:   newGauges("etcd_operator_cluster_progressing", "1 while the operator changes something, else 0."),
		stalled:       newGauges("etcd_operator_cluster_stalled", "1 while the operator waits until a person acts, else 0."),
		degraded:      newGauges("etcd_operator_cluster_degraded", "1 while a member is missing or does not serve, else 0. Absent while that is unknown."),
		alarms:        newGauges("etcd_operator_cluster_alarms", "Number of members with an alarm of etcd, by alarm: NOSPACE or CORRUPT.", "alarm"),
		expires:       newGauges("etcd_operator_cluster_certificate_expiry_timestamp_seconds", "When the first certificate of members and clients expires, in Unix time. Absent without TLS."),
		lifetime:      newGauges("etcd_operator_cluster_certificate_lifetime_seconds", "How long that certificate is valid in all, in seconds. Absent without TLS."),
		plainText:     newGauges("etcd_operator_cluster_plain_text", "1 if the traffic has no TLS, else 0, by traffic: clients or peers.", "traffic"),
		reason:        newGauges("etcd_operator_cluster_ready_reason", "Always 1. The label reason is that of the condition Ready.", "reason"),
		leaderChanges: counter("etcd_operator_cluster_leader_changes_total", "Number of leader changes that the operator has detected.", object...),
		polls:         counter("etcd_operator_cluster_member_polls_total", "Number of requests for the status of a member.", object...),
		Writes:        counter("etcd_operator_cluster_api_writes_total", "Number of writes to the Kubernetes API, without events and leader election, by verb and kind.", "verb", "kind"),
	}
	if registry == nil {
		return m, nil
	}
	collectors := []prometheus.Collector{m.leaderChanges, m.polls, m.Writes}
	for _, g := range m.gauges() {
		collectors = append(collectors, g)
	}
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) gauges() []*gauges {
	return []*gauges{
		m.wanted, m.ready, m.quorum, m.lost, m.database, m.volume, m.replaced,
		m.paused, m.readOnly, m.hibernated, m.starting, m.restoring, m.progressing, m.stalled, m.degraded, m.alarms, m.expires, m.lifetime, m.plainText, m.reason,
	}
}

// Reported sets what the conditions say. s is what the pass saw.
func (m *Metrics) Reported(s state.State, status v1beta2.EtcdClusterStatus) {
	if m == nil || s.Deleting {
		return
	}
	for kind, gauge := range map[string]*gauges{
		v1beta2.ConditionProgressing: m.progressing, v1beta2.ConditionStalled: m.stalled, v1beta2.ConditionDegraded: m.degraded,
	} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Status == metav1.ConditionUnknown {
			gauge.remove(s.Namespace, s.Name)
			continue
		}
		gauge.set(s.Namespace, s.Name, number(c.Status == metav1.ConditionTrue))
	}
	m.reason.remove(s.Namespace, s.Name)
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady); c != nil {
		m.reason.setLabelled(s.Namespace, s.Name, c.Reason, 1)
	}
	m.starting.set(s.Namespace, s.Name, number(status.ClusterID == ""))
}

// sawSpec sets what the spec asks for, and what the members and certificates show.
func (m *Metrics) sawSpec(s state.State) {
	m.wanted.set(s.Namespace, s.Name, float64(s.Spec.Size))
	m.paused.set(s.Namespace, s.Name, number(s.Spec.Paused))
	m.hibernated.set(s.Namespace, s.Name, number(s.Spec.Hibernate))
	m.starting.set(s.Namespace, s.Name, number(!s.Formed()))
	if refused, known := modes.RefusesWrites(s); known {
		m.readOnly.set(s.Namespace, s.Name, number(refused))
	} else {
		m.readOnly.remove(s.Namespace, s.Name)
	}
	m.restoring.set(s.Namespace, s.Name, number(s.Restoring()))
	for _, kind := range []etcd.AlarmKind{etcd.AlarmNoSpace, etcd.AlarmCorrupt} {
		m.alarms.setLabelled(s.Namespace, s.Name, string(kind), float64(len(state.Alarms(s, kind))))
	}
	m.plainText.setLabelled(s.Namespace, s.Name, "clients", number(!s.Spec.TLS.SecureClient()))
	m.plainText.setLabelled(s.Namespace, s.Name, "peers", number(!s.Spec.TLS.SecurePeer()))
	if at := s.Certificates.Expires; at.IsZero() {
		m.expires.remove(s.Namespace, s.Name)
		m.lifetime.remove(s.Namespace, s.Name)
	} else {
		m.expires.set(s.Namespace, s.Name, float64(at.Unix()))
		m.lifetime.set(s.Namespace, s.Name, s.Certificates.Lifetime.Seconds())
	}
}

// Saw says what a pass saw. before is the status that the pass began with.
func (m *Metrics) Saw(s state.State, before v1beta2.EtcdClusterStatus) {
	if m == nil || s.Deleting {
		return
	}
	m.sawQuorum(s)
	m.sawSpec(s)
	m.ready.set(s.Namespace, s.Name, float64(readyMembers(s)))
	m.replaced.set(s.Namespace, s.Name, float64(len(s.SetAside)))
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
		m.database.set(s.Namespace, s.Name, float64(database))
	}
	if volume > 0 {
		m.volume.set(s.Namespace, s.Name, float64(volume))
	}
	changes := m.leaderChanges.WithLabelValues(s.Namespace, s.Name)
	for _, member := range before.MemberStatuses {
		if member.Role == v1beta2.MemberLeader && leader != "" && leader != member.Name {
			changes.Inc()
		}
	}
}

// sawQuorum keeps the last answer while members are silent for a short time, and gives none while they are silent for longer.
func (m *Metrics) sawQuorum(s state.State) {
	switch unreachable, briefly := state.QuorumUnknown(s); {
	case briefly:
	case unreachable:
		m.quorum.remove(s.Namespace, s.Name)
	default:
		m.quorum.set(s.Namespace, s.Name, number(s.MembershipKnown || state.Guarded(s)))
	}
	m.lost.set(s.Namespace, s.Name, number(recovery.QuorumLost(s)))
}

// readyMembers counts the members that serve. While the operator cannot reach them, their readiness probes tell.
func readyMembers(s state.State) int {
	unreachable, _ := state.QuorumUnknown(s)
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

// Polled counts that a member of a cluster was asked.
func (m *Metrics) Polled(namespace, name string) {
	if m != nil {
		m.polls.WithLabelValues(namespace, name).Inc()
	}
}

// Forget drops what was said of an EtcdCluster that is gone.
func (m *Metrics) Forget(name types.NamespacedName) {
	if m == nil {
		return
	}
	for _, g := range m.gauges() {
		g.remove(name.Namespace, name.Name)
	}
	for _, c := range []*prometheus.CounterVec{m.leaderChanges, m.polls} {
		c.DeleteLabelValues(name.Namespace, name.Name)
	}
}
