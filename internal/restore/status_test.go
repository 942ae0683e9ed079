package restore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// conditions in short: "Ready=False/Verifying" and so on.
func short(status v1beta2.EtcdRestoreStatus) map[string]string {
	out := map[string]string{}
	for _, c := range status.Conditions {
		out[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return out
}

func TestStatusHasEveryConditionFromTheFirstPassOn(t *testing.T) {
	for name, step := range map[string]Step{
		"when the source is bad": Fail{v1beta2.ReasonInvalidSpec, "why"},
		"when it is being read":  Verify{Source: theSource},
		"when it must wait":      Wait{Reason: v1beta2.ReasonBackupNotFound, Message: "why"},
	} {
		t.Run(name, func(t *testing.T) {
			s := given()
			s.Restore.Generation = 5
			s.Restore.Status.ObservedGeneration = -1
			status := Status(s, step)
			if status.ObservedGeneration != 5 {
				t.Errorf("observedGeneration is %d", status.ObservedGeneration)
			}
			if status.StartTime == nil || !status.StartTime.Time.Equal(now) {
				t.Errorf("startTime is %v", status.StartTime)
			}
			for _, kind := range []string{"Ready", "Verified", "Restoring", "Complete", "Failed", "Stalled"} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if c == nil || c.ObservedGeneration != 5 || c.Reason == "" || !c.LastTransitionTime.Time.Equal(now) {
					t.Errorf("condition %s is %+v", kind, c)
				}
			}
		})
	}
}

func TestStatusOfEachStep(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		want map[string]string
	}{
		"while the source is read": {Verifying{}, map[string]string{
			"Ready": "False/Verifying", "Verified": "False/Verifying", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verifying", "Stalled": "False/Verifying",
		}},
		"when the source is proven": {Accept{theSource, "", theSnapshot}, map[string]string{
			"Ready": "False/Verified", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verified", "Stalled": "False/Verified",
		}},
		"after a fault that may pass": {Wait{v1beta2.ReasonAccessDenied, "why", true, 0}, map[string]string{
			"Ready": "False/AccessDenied", "Verified": "False/AccessDenied", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/AccessDenied", "Stalled": "False/AccessDenied",
		}},
		"when the source can never be good": {Fail{v1beta2.ReasonSnapshotCorrupt, "why"}, map[string]string{
			"Ready": "False/SnapshotCorrupt", "Verified": "False/SnapshotCorrupt", "Restoring": "False/SnapshotCorrupt",
			"Complete": "False/SnapshotCorrupt", "Failed": "True/SnapshotCorrupt", "Stalled": "True/SnapshotCorrupt",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(Status(given(), test.step))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	for name, test := range map[string]struct {
		step Step
		want map[string]string
	}{
		"while the seed is restored": {Follow{*progress(v1beta2.RestoreSeeding)}, map[string]string{
			"Ready": "False/Seeding", "Verified": "True/Verified", "Restoring": "True/Seeding",
			"Complete": "False/Seeding", "Failed": "False/Seeding", "Stalled": "False/Seeding",
		}},
		"while it grows": {Follow{*progress(v1beta2.RestoreGrowing)}, map[string]string{
			"Ready": "False/Growing", "Verified": "True/Verified", "Restoring": "True/Growing",
			"Complete": "False/Growing", "Failed": "False/Growing", "Stalled": "False/Growing",
		}},
		"when the cluster is restored": {Complete{*progress(v1beta2.RestoreComplete)}, map[string]string{
			"Ready": "True/Complete", "Verified": "True/Verified", "Restoring": "False/Complete",
			"Complete": "True/Complete", "Failed": "False/Complete", "Stalled": "False/Complete",
		}},
		"when the seed failed": {Fail{v1beta2.ReasonSeedFailed, "why"}, map[string]string{
			"Ready": "False/SeedFailed", "Verified": "True/Verified", "Restoring": "False/SeedFailed",
			"Complete": "False/SeedFailed", "Failed": "True/SeedFailed", "Stalled": "True/SeedFailed",
		}},
		"while it waits for a cluster": {Wait{Reason: v1beta2.ReasonWaitingForCluster}, map[string]string{
			"Ready": "False/WaitingForCluster", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/WaitingForCluster", "Stalled": "False/WaitingForCluster",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(Status(given(withProven), test.step))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Defect 1 of coreos/etcd-operator: a restore always reported success, and did so before its seed ran.
func TestSucceededIsNeverSaidBeforeTheClusterIsRestored(t *testing.T) {
	for name, step := range map[string]Step{
		"when the source is proven":   Accept{theSource, "", theSnapshot},
		"while it waits":              Wait{Reason: v1beta2.ReasonVerified},
		"while the seed is restored":  Follow{*progress(v1beta2.RestoreSeeding)},
		"while the cluster switches":  Follow{*progress(v1beta2.RestoreSwitching)},
		"while the cluster grows":     Follow{*progress(v1beta2.RestoreGrowing)},
		"when the seed failed":        Fail{v1beta2.ReasonSeedFailed, "why"},
		"when the snapshot is broken": Fail{v1beta2.ReasonSnapshotCorrupt, "why"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Status(given(withProven), step)
			if status.Succeeded || meta.IsStatusConditionTrue(status.Conditions, "Complete") || meta.IsStatusConditionTrue(status.Conditions, "Ready") {
				t.Errorf("succeeded is %v, conditions are %v", status.Succeeded, short(status))
			}
			if _, ended := step.(Fail); ended != (status.CompletionTime != nil) {
				t.Errorf("completionTime is %v", status.CompletionTime)
			}
		})
	}
	t.Run("and it is said then", func(t *testing.T) {
		status := Status(given(withProven), Complete{*progress(v1beta2.RestoreComplete)})
		if !status.Succeeded || status.Reason != "" || status.CompletionTime == nil || !status.CompletionTime.Time.Equal(now) {
			t.Errorf("got %+v", status)
		}
		if status.ClusterID != "00000000000000bb" || status.ClusterIDBefore != "00000000000000aa" {
			t.Errorf("the cluster's IDs are %s, before %s", status.ClusterID, status.ClusterIDBefore)
		}
	})
}

func TestStatusSaysWhyInTheOldField(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		want string
	}{
		"when it failed":              {Fail{v1beta2.ReasonSnapshotCorrupt, "why"}, "why"},
		"after a fault that may pass": {Wait{v1beta2.ReasonStoreUnreachable, "why", true, 0}, "why"},
		"and nothing while it waits":  {Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"}, ""},
		"and nothing when it goes on": {Follow{*progress(v1beta2.RestoreSeeding)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(func(s *State) { s.Restore.Status.Reason = "what it was before" })
			if got := Status(s, test.step).Reason; got != test.want {
				t.Errorf("reason is %q", got)
			}
		})
	}
}

func TestAnAttemptKeepsWhatTheOneBeforeSaid(t *testing.T) {
	s := given()
	s.Restore.Status = Status(s, Verify{Source: theSource})
	if s.Restore.Status.Attempts != 1 {
		t.Errorf("attempts is %d after the first", s.Restore.Status.Attempts)
	}
	s.Restore.Status = Status(s, Wait{v1beta2.ReasonAccessDenied, "why", true, 0})
	for _, step := range []Step{Verify{Source: theSource}, Verifying{}} {
		s.Restore.Status = Status(s, step)
		if got := meta.FindStatusCondition(s.Restore.Status.Conditions, "Ready"); got.Reason != v1beta2.ReasonAccessDenied || got.Message != "why" {
			t.Errorf("during the second attempt Ready is %s: %s", got.Reason, got.Message)
		}
	}
	if s.Restore.Status.Attempts != 2 {
		t.Errorf("attempts is %d after the second", s.Restore.Status.Attempts)
	}
	s.Restore.Status = Status(s, Accept{theSource, "", theSnapshot})
	if s.Restore.Status.Reason != "" || s.Restore.Status.Snapshot == nil {
		t.Errorf("after it succeeded the status is %+v", s.Restore.Status)
	}
}

func TestStatusIsTheSameWhenNothingHasChanged(t *testing.T) {
	for name, step := range map[string]Step{
		"while it reads":   Verifying{},
		"while it waits":   Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"},
		"while it follows": Follow{*progress(v1beta2.RestoreGrowing)},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(withProven)
			s.Restore.Status = Status(s, step)
			s.Now = now.Add(time.Hour)
			if diff := cmp.Diff(s.Restore.Status, Status(s, step)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	status := Status(given(), Fail{v1beta2.ReasonSnapshotCorrupt, strings.Repeat("ü", 5000)})
	for _, c := range status.Conditions {
		if len(c.Message) > 1024 || strings.ContainsRune(c.Message, '\uFFFD') {
			t.Errorf("condition %s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

func TestEachNewReasonIsToldOnce(t *testing.T) {
	ready := func(reason, message, old string) v1beta2.EtcdRestoreStatus {
		return v1beta2.EtcdRestoreStatus{Reason: old, Conditions: []metav1.Condition{{Type: "Ready", Reason: reason, Message: message}}}
	}
	for name, test := range map[string]struct {
		before, after v1beta2.EtcdRestoreStatus
		want          event
		told          bool
	}{
		"the first":               {v1beta2.EtcdRestoreStatus{}, ready("Verifying", "reads", ""), event{"Normal", "Verifying", "reads"}, true},
		"another":                 {ready("Verifying", "reads", ""), ready("Seeding", "goes on", ""), event{"Normal", "Seeding", "goes on"}, true},
		"a fault, as a warning":   {ready("Verifying", "reads", ""), ready("AccessDenied", "why", "why"), event{"Warning", "AccessDenied", "why"}, true},
		"not the same again":      {ready("Seeding", "goes on", ""), ready("Seeding", "still goes on", ""), event{}, false},
		"not where there is none": {v1beta2.EtcdRestoreStatus{}, v1beta2.EtcdRestoreStatus{}, event{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, told := eventOf(test.before, test.after)
			if got != test.want || told != test.told {
				t.Errorf("got %+v, %v", got, told)
			}
		})
	}
}
