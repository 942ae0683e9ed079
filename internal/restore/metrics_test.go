package restore

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Without the label, the alert of a failed restore also fires for a failed dry run, which has changed nothing.
func TestTheMetricOfAFailedRestoreShowsWhetherItWasADryRun(t *testing.T) {
	for dryRun, want := range map[bool]string{true: "true", false: "false"} {
		m, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		before, after := theRestore(), theRestore()
		after.Spec.DryRun, after.Status.CompletionTime = dryRun, &metav1.Time{Time: now}
		after.Status.Conditions = []metav1.Condition{
			{Type: v1beta2.ConditionReady, Reason: v1beta2.ReasonSnapshotCorrupt}, {Type: v1beta2.ConditionFailed, Status: metav1.ConditionTrue},
		}
		m.reported(before, after)
		if got := testutil.ToFloat64(m.failed.WithLabelValues("ns", "back", v1beta2.ReasonSnapshotCorrupt, want)); got != 1 {
			t.Errorf("with dryRun %v, the series with dry_run=%q is %v", dryRun, want, got)
		}
		if n := testutil.CollectAndCount(m.failed); n != 1 {
			t.Errorf("with dryRun %v there are %d series", dryRun, n)
		}
		m.forget("ns", "back")
		if n := testutil.CollectAndCount(m.failed); n != 0 {
			t.Errorf("%d series are left of a deleted EtcdRestore", n)
		}
	}
}

// A standby that is behind for an hour loses an hour when it is promoted. The alert needs the metric also while the lag is not known.
func TestTheMetricOfAStandbyShowsWhetherItFollows(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[metav1.ConditionStatus]float64{metav1.ConditionFalse: 0, metav1.ConditionTrue: 1} {
		standby := theRestore()
		standby.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionFollowing, Status: status}}
		m.reported(theRestore(), standby)
		if got := testutil.ToFloat64(m.follows.WithLabelValues("ns", "back")); got != want {
			t.Errorf("with the condition %s, the metric is %v", status, got)
		}
		standby.Status.Follow = &v1beta2.RestoreFollowStatus{}
		standby.Status.Follow.Promoted = &v1beta2.PromotedStatus{}
		if m.reported(theRestore(), standby); testutil.CollectAndCount(m.follows) != 0 {
			t.Error("a promoted standby has the metric")
		}
	}
}
