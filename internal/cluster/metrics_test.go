package cluster

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestMetricsTellWhatWasSeenAndGoWithTheCluster(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	s := state(formed, members(3), with(1, silent), with(0, func(m *plan.Member) { m.DBSize, m.VolumeCapacity = 4096, 8192 }))
	s.SetAside = []plan.SetAside{{Name: "old-1"}, {Name: "old-2"}}
	before := v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: nameOf(2), Role: v1beta2.MemberLeader}}}
	m.saw(s, before)
	m.saw(s, v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: nameOf(0), Role: v1beta2.MemberLeader}}})
	m.polled("ns", "example")
	const want = `
# HELP etcd_cluster_database_bytes Size of the largest database file of a member.
# TYPE etcd_cluster_database_bytes gauge
etcd_cluster_database_bytes{name="example",namespace="ns"} 4096
# HELP etcd_cluster_has_quorum 1 while a quorum of members answers, else 0. Absent while the operator cannot reach members whose Pods are ready.
# TYPE etcd_cluster_has_quorum gauge
etcd_cluster_has_quorum{name="example",namespace="ns"} 1
# HELP etcd_cluster_leader_changes_total Times that another member was seen to lead than before.
# TYPE etcd_cluster_leader_changes_total counter
etcd_cluster_leader_changes_total{name="example",namespace="ns"} 1
# HELP etcd_cluster_member_polls_total Times that a member was asked for its status.
# TYPE etcd_cluster_member_polls_total counter
etcd_cluster_member_polls_total{name="example",namespace="ns"} 1
# HELP etcd_cluster_members_ready Members that serve clients.
# TYPE etcd_cluster_members_ready gauge
etcd_cluster_members_ready{name="example",namespace="ns"} 2
# HELP etcd_cluster_members_wanted Members that the spec asks for.
# TYPE etcd_cluster_members_wanted gauge
etcd_cluster_members_wanted{name="example",namespace="ns"} 3
# HELP etcd_cluster_quorum_lost 1 while quorum is lost and does not come back by itself, else 0.
# TYPE etcd_cluster_quorum_lost gauge
etcd_cluster_quorum_lost{name="example",namespace="ns"} 0
# HELP etcd_cluster_replaced_volumes Volumes with data from before a restore or a recovery that are kept for some time.
# TYPE etcd_cluster_replaced_volumes gauge
etcd_cluster_replaced_volumes{name="example",namespace="ns"} 2
# HELP etcd_cluster_volume_bytes Size of the smallest volume of a member.
# TYPE etcd_cluster_volume_bytes gauge
etcd_cluster_volume_bytes{name="example",namespace="ns"} 8192
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	m.forget(types.NamespacedName{Namespace: "ns", Name: "example"})
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
		t.Errorf("%d series are left of a cluster that is gone, %v", n, err)
	}
}

func TestNoMetricSaysThatAQuorumIsMissingWhichTheOperatorCannotReach(t *testing.T) {
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := state(formed, members(3))
	m.saw(s, v1beta2.EtcdClusterStatus{})
	s.MembershipKnown = false
	for i := range s.Members {
		s.Members[i].Serving, s.Members[i].Answers = false, false
	}
	m.saw(s, v1beta2.EtcdClusterStatus{})
	if n := testutil.CollectAndCount(m.quorum); n != 0 {
		t.Errorf("%d series tell of a quorum that is not known", n)
	}
	if got := testutil.ToFloat64(m.ready.WithLabelValues("ns", "example")); got != 3 {
		t.Errorf("%v members are ready, want 3", got)
	}
}

func TestALostQuorumIsAMetric(t *testing.T) {
	for name, test := range map[string]struct {
		state plan.State
		want  float64
	}{
		"held":                                 {state(formed, members(3), with(1, silent)), 0},
		"members are down":                     {state(formed, members(3), noQuorum, with(1, pod(plan.PodStarting)), with(2, pod(plan.PodStarting))), 0},
		"volumes are gone":                     {state(formed, members(3), noQuorum, with(1, gone), with(2, gone)), 1},
		"a survivor is about to be chosen":     {state(formed, members(3), noQuorum, with(0, knows(1, 1)), with(1, gone), with(2, gone), consenting), 1},
		"a survivor is restarted":              {state(formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, forcing(0)), 1},
		"not formed, so there is none to lose": {state(initial(3)), 0},
	} {
		m, err := newMetrics(nil)
		if err != nil {
			t.Fatal(err)
		}
		m.saw(test.state, v1beta2.EtcdClusterStatus{})
		if got := testutil.ToFloat64(m.lost.WithLabelValues("ns", "example")); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
