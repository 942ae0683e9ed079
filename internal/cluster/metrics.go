package cluster

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// metrics of all EtcdClusters, and of what looking after them costs. An EtcdCluster's go with it. A nil *metrics
// counts nothing.
type metrics struct {
	wanted, ready, quorum, lost, database, volume, replaced *prometheus.GaugeVec
	leaderChanges, polls                                    *prometheus.CounterVec
	// writes to the Kubernetes API, of all EtcdClusters together.
	writes *prometheus.CounterVec
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
		wanted:        gauge("etcd_cluster_members_wanted", "Members that the spec asks for.", object...),
		ready:         gauge("etcd_cluster_members_ready", "Members that serve clients.", object...),
		quorum:        gauge("etcd_cluster_has_quorum", "1 while a quorum of members answers, else 0. Absent while the operator cannot reach members whose Pods are ready.", object...),
		lost:          gauge("etcd_cluster_quorum_lost", "1 while quorum is lost and does not come back by itself, else 0.", object...),
		database:      gauge("etcd_cluster_database_bytes", "Size of the largest database file of a member.", object...),
		volume:        gauge("etcd_cluster_volume_bytes", "Size of the smallest volume of a member.", object...),
		replaced:      gauge("etcd_cluster_replaced_volumes", "Volumes with data from before a restore or a recovery that are kept for some time.", object...),
		leaderChanges: counter("etcd_cluster_leader_changes_total", "Times that another member was seen to lead than before.", object...),
		polls:         counter("etcd_cluster_member_polls_total", "Times that a member was asked for its status.", object...),
		writes:        counter("etcd_cluster_api_writes_total", "Writes to the Kubernetes API, events and leader election apart.", "verb", "kind"),
	}
	if registry == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.wanted, m.ready, m.quorum, m.lost, m.database, m.volume, m.replaced, m.leaderChanges, m.polls, m.writes} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// saw says what a pass saw. before is the status that the pass began with.
func (m *metrics) saw(s plan.State, before v1beta2.EtcdClusterStatus) {
	if m == nil || s.Deleting {
		return
	}
	m.sawQuorum(s)
	m.wanted.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Spec.Size))
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
	labels := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	for _, v := range []*prometheus.GaugeVec{m.wanted, m.ready, m.quorum, m.lost, m.database, m.volume, m.replaced} {
		v.DeletePartialMatch(labels)
	}
	m.leaderChanges.DeletePartialMatch(labels)
	m.polls.DeletePartialMatch(labels)
}
