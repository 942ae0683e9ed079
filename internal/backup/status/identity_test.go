package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

var unlisted = &state.Failure{Reason: v1beta2.ReasonOwnIdentityNotAllowed, Message: "It is not allowed."}

func refusedPath(s *state.State) { s.Refused = unlisted }

// A series whose next snapshot was hours away showed nothing after the upgrade, and failed in the night.
func TestARefusedPathIsReportedBeforeASnapshotIsDue(t *testing.T) {
	ready := statetest.Cron("0 3 * * *", refusedPath)
	step, rule := plan.Plan(ready)
	if rule != "pathIsNotAllowed" || plan.Describe(step, ready).Requeue != plan.AllowedInterval {
		t.Errorf("%s: %+v", rule, step)
	}
	status := NewStatus(ready, step, nil)
	for _, kind := range []string{v1beta2.ConditionStalled, v1beta2.ConditionFailed} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c == nil || c.Status != metav1.ConditionTrue || c.Reason != unlisted.Reason {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	if events := plan.Describe(step, ready).Events; len(events) != 1 || events[0].Reason != unlisted.Reason || events[0].Type != corev1.EventTypeWarning {
		t.Errorf("events %+v", events)
	}
	ready.Refused, ready.Status = nil, status
	step, _ = plan.Plan(ready)
	if again := NewStatus(ready, step, nil); meta.IsStatusConditionTrue(again.Conditions, v1beta2.ConditionStalled) {
		t.Errorf("after it was allowed: %+v", again.Conditions)
	}
}

// A right that was taken away left an archiver running, or the condition Archiving true.
func TestNothingIsArchivedCopiedOrTestedAtARefusedPath(t *testing.T) {
	s := statetest.Cron("0 3 * * *", refusedPath, func(s *state.State) {
		s.Spec.Continuous = &v1beta2.ContinuousArchive{}
		s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/k"}}}
		s.Status.Snapshot = &v1beta2.Snapshot{ClusterID: "00000000000000aa"}
	})
	if s.Archived() {
		t.Error("an archiver runs")
	}
	if status, reason, _ := archiveCondition(s, s.Status); status != metav1.ConditionFalse || reason != unlisted.Reason {
		t.Errorf("Archiving is %s for %s", status, reason)
	}
	if !plan.CopyTurn(s).IsZero() {
		t.Error("it copies from a location that it may not read")
	}
	if _, rule := plan.Plan(s); rule != "pathIsNotAllowed" {
		t.Errorf("the next rule is %s", rule)
	}
}

// A second location that is refused stops no snapshot, so only its condition and this event say it.
func TestARefusedSecondLocationIsAnEventOnce(t *testing.T) {
	s := statetest.Cron("0 3 * * *", func(s *state.State) {
		s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/k"}}}
		s.CopyProblem = unlisted
	})
	step, rule := plan.Plan(s)
	after := NewStatus(s, step, nil)
	if rule == "pathIsNotAllowed" || len(CopyEvents(s.Status, after)) != 1 || len(CopyEvents(after, after)) != 0 {
		t.Errorf("%s: events %+v, then %+v", rule, CopyEvents(s.Status, after), CopyEvents(after, after))
	}
	if c := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionCopied); c.Reason != unlisted.Reason {
		t.Errorf("%+v", c)
	}
}
