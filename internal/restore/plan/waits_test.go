package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/planning/planningtest"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// A wait that is forgotten here lasts without an end, and no alert or GitOps tool notices that a person must act.
func TestEachWaitOfARestoreIsStalledAfterAWhile(t *testing.T) {
	planningtest.SayWhatEnds(t, ".", map[string]string{
		"clusterIsMissing":            "the user creates the EtcdCluster: a snapshot may be verified long before",
		"anotherRestoreIsFirst":       "the end of the other restore, which is Stalled if it needs a person",
		"clusterHasNotStarted":        "startGrace, or the user ends the pause or the hibernation",
		"prefixesNeedARunningCluster": "the user creates or starts the EtcdCluster, or the end of the other restore; without members it is Stalled",
		"writeAgain":                  "a number of failed attempts, see needsPerson",
		"newestOfBackup":              "the schedule of the EtcdBackup, which is Stalled if it needs a person",
		"retry":                       "a number of failed attempts, see needsPerson",
	})
}

func stalledOf(status v1beta2.EtcdRestoreStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// A restore named an EtcdBackup that does not exist, and nothing but its message said that a person must act.
func TestARestoreThatWaitsForAnEtcdBackupIsStalledAfterFiveMinutes(t *testing.T) {
	s := given(givenBackup(nil))
	for _, at := range []struct {
		after   time.Duration
		stalled bool
	}{{0, false}, {planning.StalledAfter - time.Second, false}, {planning.StalledAfter, true}} {
		s.Now = now.Add(at.after)
		step := next(s)
		s.Restore.Status = status.New(s, step, nil)
		if c := stalledOf(s.Restore.Status); (c != nil) != at.stalled {
			t.Errorf("after %s: Stalled is %+v", at.after, c)
		}
		if left, requeue := planning.StalledAfter-at.after, step.Describe(s).Requeue; left > 0 && (requeue == 0 || requeue > left) {
			t.Errorf("after %s: the next pass is after %s", at.after, requeue)
		}
	}
}

// A bucket in another region never gives the snapshot, and the restore was tried again and again without being Stalled.
func TestARestoreIsStalledIfItsAttemptsFailUntilAPersonActs(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		attempts int32
		stalled  bool
	}{
		"the region is wrong":                {v1beta2.ReasonWrongRegion, 1, true},
		"the network fails once":             {v1beta2.ReasonStoreUnreachable, 1, false},
		"the network fails for some minutes": {v1beta2.ReasonStoreUnreachable, planning.StalledAfterFailures, true},
	} {
		s := given(withProof(failed(test.reason, false)))
		s.Restore.Status.Attempts = test.attempts
		s.Restore.Status = status.New(s, next(s), nil)
		if c := stalledOf(s.Restore.Status); (c != nil) != test.stalled {
			t.Errorf("%s: Stalled is %+v", name, c)
		}
		for _, step := range []steps.Step{steps.Verify{Source: theSource}, steps.Verifying{}} {
			s.Restore.Status = status.New(s, step, nil)
			if c := stalledOf(s.Restore.Status); (c != nil) != test.stalled {
				t.Errorf("%s, during the next attempt: Stalled is %+v", name, c)
			}
		}
		s.Restore.Status = status.New(s, steps.Accept{Source: theSource, Snapshot: theSnapshot}, nil)
		if c := stalledOf(s.Restore.Status); c != nil {
			t.Errorf("%s, when it has succeeded: Stalled is %+v", name, c)
		}
	}
}

// The cluster waited for a Secret in the middle of a restore, and the restore reported progress.
func TestARestoreIsStalledWhileItsClusterIs(t *testing.T) {
	s := given(withProven, withProgress(v1beta2.RestoreGrowing))
	if s.Restore.Status = status.New(s, next(s), nil); stalledOf(s.Restore.Status) != nil {
		t.Errorf("Stalled is %+v", stalledOf(s.Restore.Status))
	}
	s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionStalled, Status: metav1.ConditionTrue, Reason: "SecretMissing", Message: "There is no Secret tls."}}
	s.Restore.Status = status.New(s, next(s), nil)
	if c := stalledOf(s.Restore.Status); c == nil || !strings.Contains(c.Message, "needs your help (SecretMissing): There is no Secret tls.") {
		t.Errorf("Stalled is %+v", c)
	}
}
