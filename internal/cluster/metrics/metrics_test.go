package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestMetricsTellWhatWasSeenAndGoWithTheCluster(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Silent), plantest.With(0, func(m *state.Member) { m.DBSize, m.VolumeCapacity = 4096, 8192 }))
	s.SetAside = []state.SetAside{{Name: "old-1"}, {Name: "old-2"}}
	before := v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: plantest.NameOf(2), Role: v1beta2.MemberLeader}}}
	m.Saw(s, before)
	m.Saw(s, v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: plantest.NameOf(0), Role: v1beta2.MemberLeader}}})
	m.Polled("ns", "example")
	m.Reported(s, v1beta2.EtcdClusterStatus{ClusterID: "1", Conditions: []metav1.Condition{
		{Type: v1beta2.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta2.ReasonMemberDown},
		{Type: v1beta2.ConditionDegraded, Status: metav1.ConditionTrue}, {Type: v1beta2.ConditionStalled, Status: metav1.ConditionFalse},
	}})
	const want = `
etcd_operator_cluster_alarms{alarm="CORRUPT",name="example",namespace="ns"} 0
etcd_operator_cluster_alarms{alarm="NOSPACE",name="example",namespace="ns"} 0
etcd_operator_cluster_database_bytes{name="example",namespace="ns"} 4096
etcd_operator_cluster_degraded{name="example",namespace="ns"} 1
etcd_operator_cluster_has_quorum{name="example",namespace="ns"} 1
etcd_operator_cluster_hibernated{name="example",namespace="ns"} 0
etcd_operator_cluster_leader_changes_total{name="example",namespace="ns"} 1
etcd_operator_cluster_member_polls_total{name="example",namespace="ns"} 1
etcd_operator_cluster_members_ready{name="example",namespace="ns"} 2
etcd_operator_cluster_members_wanted{name="example",namespace="ns"} 3
etcd_operator_cluster_paused{name="example",namespace="ns"} 0
etcd_operator_cluster_plain_text{name="example",namespace="ns",traffic="clients"} 1
etcd_operator_cluster_plain_text{name="example",namespace="ns",traffic="peers"} 1
etcd_operator_cluster_quorum_lost{name="example",namespace="ns"} 0
etcd_operator_cluster_read_only{name="example",namespace="ns"} 0
etcd_operator_cluster_ready_reason{name="example",namespace="ns",reason="MemberDown"} 1
etcd_operator_cluster_replaced_volumes{name="example",namespace="ns"} 2
etcd_operator_cluster_restoring{name="example",namespace="ns"} 0
etcd_operator_cluster_stalled{name="example",namespace="ns"} 0
etcd_operator_cluster_starting{name="example",namespace="ns"} 0
etcd_operator_cluster_volume_bytes{name="example",namespace="ns"} 8192
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), series(t, registry)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	m.Forget(types.NamespacedName{Namespace: "ns", Name: "example"})
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
		t.Errorf("%d series are left of a cluster that is gone, %v", n, err)
	}
}

// series of all metrics, as in the text format without comments.
func series(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			fmt.Fprintf(&text, "%s{%s} %v\n", family.GetName(), strings.Join(labels, ","), value)
		}
	}
	return text.String()
}

func TestWhyAClusterMayBeWithoutMembersIsAMetric(t *testing.T) {
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := clustertest.State(plantest.Initial(3), func(s *state.State) {
		s.Spec.Paused, s.Spec.Hibernate = true, true
		s.Restore = &v1beta2.ClusterRestoreStatus{Step: v1beta2.RestoreSwitching}
		s.Certificates.Expires, s.Certificates.Lifetime = time.Unix(1000, 0), time.Hour
	})
	m.Saw(s, v1beta2.EtcdClusterStatus{})
	m.Reported(s, v1beta2.EtcdClusterStatus{Conditions: []metav1.Condition{
		{Type: v1beta2.ConditionStalled, Status: metav1.ConditionTrue}, {Type: v1beta2.ConditionDegraded, Status: metav1.ConditionUnknown},
	}})
	for name, want := range map[*gauges]float64{m.paused: 1, m.hibernated: 1, m.starting: 1, m.restoring: 1, m.stalled: 1, m.expires: 1000, m.lifetime: 3600} {
		if got := testutil.ToFloat64(name); got != want {
			t.Errorf("%v is %v, want %v", name.desc, got, want)
		}
	}
	if n := testutil.CollectAndCount(m.degraded); n != 0 {
		t.Errorf("%d series report a state of the members that is not known", n)
	}
}

func TestTrafficWithoutTLSIsAMetric(t *testing.T) {
	for name, test := range map[string]struct {
		tls            *v1beta2.TLSPolicy
		clients, peers float64
	}{
		"no TLS":         {nil, 1, 1},
		"issued":         {&v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}, 0, 0},
		"only clients":   {&v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "o", Member: &v1beta2.MemberSecret{ServerSecret: "s"}}}, 0, 1},
		"only the peers": {&v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "p"}}}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(nil)
			if err != nil {
				t.Fatal(err)
			}
			s := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.TLS = test.tls })
			m.sawSpec(s)
			got := map[string]float64{}
			for _, l := range m.plainText.values[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] {
				got[l.label] = l.value
			}
			if got["clients"] != test.clients || got["peers"] != test.peers {
				t.Errorf("plain text: %v, want %v of clients and %v of peers", got, test.clients, test.peers)
			}
		})
	}
}

func TestOnlyTheNewestReasonIsAMetric(t *testing.T) {
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{v1beta2.ReasonCreating, v1beta2.ReasonReady} {
		m.Reported(clustertest.State(plantest.Formed, plantest.Members(3)), v1beta2.EtcdClusterStatus{Conditions: []metav1.Condition{{Type: v1beta2.ConditionReady, Reason: reason}}})
	}
	if n := testutil.CollectAndCount(m.reason); n != 1 {
		t.Errorf("%d reasons of one cluster", n)
	}
}

func TestNoMetricSaysThatAQuorumIsMissingWhichTheOperatorCannotReach(t *testing.T) {
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	m.Saw(s, v1beta2.EtcdClusterStatus{})
	s.MembershipKnown = false
	for i := range s.Members {
		s.Members[i].Serving, s.Members[i].Answers = false, false
	}
	m.Saw(s, v1beta2.EtcdClusterStatus{})
	if n := testutil.CollectAndCount(m.quorum); n != 0 {
		t.Errorf("%d series tell of a quorum that is not known", n)
	}
	if got := testutil.ToFloat64(m.ready); got != 3 {
		t.Errorf("%v members are ready, want 3", got)
	}
}

func TestALostQuorumIsAMetric(t *testing.T) {
	for name, test := range map[string]struct {
		state state.State
		want  float64
	}{
		"one of three members does not answer":            {clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Silent)), 0},
		"members are down, but their volumes exist":       {clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Pod(state.PodStarting)), plantest.With(2, plantest.Pod(state.PodStarting))), 0},
		"the volumes of two of three members are missing": {clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone)), 1},
		"a survivor is about to be chosen":                {clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, clustertest.Knows(1, 1)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), clustertest.Consenting), 1},
		"a survivor is restarted":                         {clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), clustertest.Consenting, clustertest.Forcing(0)), 1},
		"the cluster has not formed":                      {clustertest.State(plantest.Initial(3)), 0},
	} {
		m, err := New(nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Saw(test.state, v1beta2.EtcdClusterStatus{})
		if got := testutil.ToFloat64(m.lost); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
