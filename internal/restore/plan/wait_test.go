package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// A verified EtcdRestore said for ever that the cluster has not started it, and was never Stalled.
func TestARestoreThatTheClusterDoesNotStartIsStalledWithWhatTheClusterReports(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	condition := func(kind string, is metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now)}
	}
	for name, test := range map[string]struct {
		after     time.Duration
		condition metav1.Condition
		reason    string
		stalled   bool
		has       []string
	}{
		"at first":                   {0, condition(v1beta2.ConditionReady, metav1.ConditionTrue, v1beta2.ReasonReady, ""), v1beta2.ReasonVerified, false, []string{"If this takes more than a minute"}},
		"after 5 minutes":            {startGrace, condition(v1beta2.ConditionReady, metav1.ConditionTrue, v1beta2.ReasonReady, ""), v1beta2.ReasonNotStarted, true, []string{"2026-01-01T00:00:00Z", "Check that cluster-operator is running"}},
		"the cluster does something": {startGrace, condition(v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonRecovering, "The survivor restarts."), v1beta2.ReasonNotStarted, true, []string{"reports Recovering: The survivor restarts."}},
		"the cluster needs help":     {0, condition(v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonSnapshotTooNew, "The cluster does not start it."), v1beta2.ReasonNotStarted, true, []string{"SnapshotTooNew", "The cluster does not start it."}},
	} {
		t.Run(name, func(t *testing.T) {
			s := state.State{Now: now.Add(test.after), Cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "example"}}}
			s.Restore.Status.Conditions = []metav1.Condition{condition(v1beta2.ConditionVerified, metav1.ConditionTrue, v1beta2.ReasonVerified, "")}
			s.Cluster.Status.Conditions = []metav1.Condition{test.condition}
			step := clusterHasNotStarted(s)
			wait, _ := step.(steps.Wait)
			if wait.Reason != test.reason || wait.Stalled != test.stalled {
				t.Errorf("got %+v", wait)
			}
			for _, want := range test.has {
				if !strings.Contains(wait.Message, want) {
					t.Errorf("the status says %q, want %q", wait.Message, want)
				}
			}
			if got := meta.IsStatusConditionTrue(status.New(s, step, nil).Conditions, v1beta2.ConditionStalled); got != test.stalled {
				t.Errorf("Stalled is %t, want %t", got, test.stalled)
			}
		})
	}
}

func TestAnObjectOfARestoreThatIsRefusedIsStalled(t *testing.T) {
	status := status.New(state.State{}, ObjectRefused("Kubernetes refuses Secret x."), nil)
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) || status.Reason != "Kubernetes refuses Secret x." {
		t.Errorf("the status is %+v", status)
	}
}
