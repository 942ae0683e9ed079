package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/planning/planningtest"
)

// conditions in short: "Ready=False/Verifying" and so on.
func short(status v1beta2.EtcdRestoreStatus) map[string]string {
	out := map[string]string{}
	for _, c := range status.Conditions {
		out[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return out
}

func TestEveryConditionIsSetFromTheFirstPassOn(t *testing.T) {
	for name, step := range map[string]Step{
		"when the source is bad":        Fail{v1beta2.ReasonInvalidSpec, "why"},
		"when the source is being read": Verify{Source: theSource},
		"when the restore must wait":    Wait{Reason: v1beta2.ReasonBackupNotFound, Message: "why"},
	} {
		t.Run(name, func(t *testing.T) {
			s := given()
			s.Restore.Generation = 5
			s.Restore.Status.ObservedGeneration = -1
			status := NewStatus(s, step, nil)
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

func TestTheConditionsOfEachStep(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		want map[string]string
	}{
		"while the source is read": {Verifying{}, map[string]string{
			"Ready": "False/Verifying", "Verified": "False/Verifying", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verifying", "Stalled": "False/Verifying",
		}},
		"when the snapshot is verified": {Accept{Source: theSource, Snapshot: theSnapshot}, map[string]string{
			"Ready": "False/Verified", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verified", "Stalled": "False/Verified",
		}},
		"after a temporary failure": {Wait{Reason: v1beta2.ReasonAccessDenied, Message: "why", Failure: true, Patient: true}, map[string]string{
			"Ready": "False/AccessDenied", "Verified": "False/AccessDenied", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/AccessDenied", "Stalled": "False/AccessDenied",
		}},
		"when the snapshot can never be valid": {Fail{v1beta2.ReasonSnapshotCorrupt, "why"}, map[string]string{
			"Ready": "False/SnapshotCorrupt", "Verified": "False/SnapshotCorrupt", "Restoring": "False/SnapshotCorrupt",
			"Complete": "False/SnapshotCorrupt", "Failed": "True/SnapshotCorrupt", "Stalled": "True/SnapshotCorrupt",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(NewStatus(given(), test.step, nil))); diff != "" {
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
		"while the cluster grows": {Follow{*progress(v1beta2.RestoreGrowing)}, map[string]string{
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
		"while the restore waits for a cluster": {Wait{Reason: v1beta2.ReasonWaitingForCluster}, map[string]string{
			"Ready": "False/WaitingForCluster", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/WaitingForCluster", "Stalled": "False/WaitingForCluster",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(NewStatus(given(withProven), test.step, nil))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Defect 1 of coreos/etcd-operator: a restore always reported success, and did so before its seed ran.
func TestSucceededIsFalseUntilTheClusterIsRestored(t *testing.T) {
	for name, step := range map[string]Step{
		"when the snapshot is verified": Accept{Source: theSource, Snapshot: theSnapshot},
		"while the restore waits":       Wait{Reason: v1beta2.ReasonVerified},
		"while the seed is restored":    Follow{*progress(v1beta2.RestoreSeeding)},
		"while the cluster switches":    Follow{*progress(v1beta2.RestoreSwitching)},
		"while the cluster grows":       Follow{*progress(v1beta2.RestoreGrowing)},
		"when the seed failed":          Fail{v1beta2.ReasonSeedFailed, "why"},
		"when the snapshot is broken":   Fail{v1beta2.ReasonSnapshotCorrupt, "why"},
	} {
		t.Run(name, func(t *testing.T) {
			status := NewStatus(given(withProven), step, nil)
			if status.Succeeded || meta.IsStatusConditionTrue(status.Conditions, "Complete") || meta.IsStatusConditionTrue(status.Conditions, "Ready") {
				t.Errorf("succeeded is %v, conditions are %v", status.Succeeded, short(status))
			}
			if _, ended := step.(Fail); ended != (status.CompletionTime != nil) {
				t.Errorf("completionTime is %v", status.CompletionTime)
			}
		})
	}
	t.Run("is true when the cluster is restored", func(t *testing.T) {
		status := NewStatus(given(withProven), Complete{*progress(v1beta2.RestoreComplete)}, nil)
		if !status.Succeeded || status.Reason != "" || status.CompletionTime == nil || !status.CompletionTime.Time.Equal(now) {
			t.Errorf("got %+v", status)
		}
		if status.ClusterID != "00000000000000bb" || status.ClusterIDBefore != "00000000000000aa" {
			t.Errorf("the cluster's IDs are %s, before %s", status.ClusterID, status.ClusterIDBefore)
		}
	})
}

func TestTheOldFieldReasonHasTheFailure(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		want string
	}{
		"has the message of a final failure":  {Fail{v1beta2.ReasonSnapshotCorrupt, "why"}, "why"},
		"after a temporary failure":           {Wait{Reason: v1beta2.ReasonStoreUnreachable, Message: "why", Failure: true, Patient: true}, "why"},
		"is empty while the restore waits":    {Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"}, ""},
		"is empty when the restore continues": {Follow{*progress(v1beta2.RestoreSeeding)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(func(s *State) { s.Restore.Status.Reason = "what it was before" })
			if got := NewStatus(s, test.step, nil).Reason; got != test.want {
				t.Errorf("reason is %q", got)
			}
		})
	}
}

func TestARetryKeepsTheConditionOfTheFailedAttempt(t *testing.T) {
	s := given()
	s.Restore.Status = NewStatus(s, Verify{Source: theSource}, nil)
	if s.Restore.Status.Attempts != 1 {
		t.Errorf("attempts is %d after the first", s.Restore.Status.Attempts)
	}
	s.Restore.Status = NewStatus(s, Wait{Reason: v1beta2.ReasonAccessDenied, Message: "why", Failure: true, Patient: true}, nil)
	for _, step := range []Step{Verify{Source: theSource}, Verifying{}} {
		s.Restore.Status = NewStatus(s, step, nil)
		if got := meta.FindStatusCondition(s.Restore.Status.Conditions, "Ready"); got.Reason != v1beta2.ReasonAccessDenied || got.Message != "why" {
			t.Errorf("during the second attempt Ready is %s: %s", got.Reason, got.Message)
		}
	}
	if s.Restore.Status.Attempts != 2 {
		t.Errorf("attempts is %d after the second", s.Restore.Status.Attempts)
	}
	s.Restore.Status = NewStatus(s, Accept{Source: theSource, Snapshot: theSnapshot}, nil)
	if s.Restore.Status.Reason != "" || s.Restore.Status.Snapshot == nil {
		t.Errorf("after it succeeded the status is %+v", s.Restore.Status)
	}
}

func TestTheStatusDoesNotChangeIfNothingHasChanged(t *testing.T) {
	for name, step := range map[string]Step{
		"while the snapshot is read":            Verifying{},
		"while the restore waits":               Wait{Patient: true, Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"},
		"while the restore follows the cluster": Follow{*progress(v1beta2.RestoreGrowing)},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(withProven)
			s.Restore.Status = NewStatus(s, step, nil)
			s.Now = now.Add(time.Hour)
			if diff := cmp.Diff(s.Restore.Status, NewStatus(s, step, nil)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestLongMessagesAreShortened(t *testing.T) {
	status := NewStatus(given(), Fail{v1beta2.ReasonSnapshotCorrupt, strings.Repeat("ü", 5000)}, nil)
	for _, c := range status.Conditions {
		if len(c.Message) > 1024 || strings.ContainsRune(c.Message, '\uFFFD') {
			t.Errorf("condition %s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

func TestAnEventIsPublishedWhenTheReasonChanges(t *testing.T) {
	ready := func(reason, old string) func(*State) {
		return func(s *State) {
			s.Restore.Status.Attempts, s.Restore.Status.Reason = 1, old
			s.Restore.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: reason, Message: "before"}}
		}
	}
	event := func(kind, reason, note string) []planning.Event {
		return []planning.Event{{Type: kind, Reason: reason, Action: "Restore", Note: note}}
	}
	seeding := *progress(v1beta2.RestoreSeeding)
	for name, test := range map[string]struct {
		state State
		step  Step
		want  []planning.Event
	}{
		"an event for the first reason":        {given(), Wait{Reason: "Queued", Message: "m"}, event("Normal", "Queued", "m")},
		"an event for a new reason":            {given(ready("Verifying", "")), Follow{seeding}, event("Normal", "Seeding", "what the cluster says")},
		"a warning for a temporary failure":    {given(ready("Verifying", "")), Wait{Reason: "AccessDenied", Message: "m", Failure: true}, event("Warning", "AccessDenied", "m")},
		"a warning for a final failure":        {given(ready("Verifying", "")), Fail{"SnapshotCorrupt", "m"}, event("Warning", "SnapshotCorrupt", "m")},
		"no event if only the message changes": {given(ready("Seeding", "")), Follow{seeding}, nil},
		"no event for a retry":                 {given(ready("AccessDenied", "why")), Verify{Source: theSource}, nil},
		"no event for a finished restore":      {given(), Done{}, nil},
		"no event for an expired restore":      {given(), Expire{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Describe(test.state, test.step).Events); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			status := NewStatus(test.state, test.step, nil)
			for _, event := range test.want {
				if got := meta.FindStatusCondition(status.Conditions, "Ready"); got.Reason != event.Reason || got.Message != event.Note {
					t.Errorf("Ready is %s: %s", got.Reason, got.Message)
				}
			}
		})
	}
}

// A user saw neither why a restore stopped nor that it was tried again, because only the log had the error of an effect.
func TestTheStatusSaysWhyAnEffectFailedAndOtherwiseRemains(t *testing.T) {
	s := given(withProven)
	after := NewStatus(s, Verify{Source: theSource}, errors.New("no answer"))
	ready := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1beta2.ReasonRetrying || ready.Message != "no answer" {
		t.Errorf("Ready is %+v", ready)
	}
	after.Conditions = s.Restore.Status.Conditions
	if diff := cmp.Diff(s.Restore.Status, after); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if done := NewStatus(s, Expire{}, errors.New("no answer")); !cmp.Equal(s.Restore.Status, done) {
		t.Error("a restore that has ended is no longer what it was")
	}
}

// everyStep has one step of each type.
var everyStep = []Step{
	Done{}, Expire{}, Verify{Source: theSource}, Verifying{Percent: 5}, Interrupted{}, Wait{Reason: "Queued", Message: "A sentence."},
	Accept{Source: theSource, Snapshot: theSnapshot}, Follow{*progress(v1beta2.RestoreSeeding)},
	Complete{*progress(v1beta2.RestoreComplete)}, Fail{"SeedFailed", "A sentence."}, Inherit{},
	SaveOldData{Cluster: *progress(v1beta2.RestoreSeeding)}, RecordSafety{Cluster: *progress(v1beta2.RestoreSeeding)},
	Proved{Snapshot: theSnapshot}, RenewURL{}, RecordURL{}, RestoreKeys{}, CompleteKeys{},
}

func TestEveryStepIsKnownAndDescribesItself(t *testing.T) {
	if diff := cmp.Diff(planningtest.StepTypes(t, "."), planningtest.TypesOf(everyStep)); diff != "" {
		t.Errorf("everyStep: source -, list +:\n%s", diff)
	}
	ended := given(withProven, func(s *State) {
		s.Restore.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: "Complete", Message: "A sentence."}}
	})
	for _, step := range everyStep {
		if d := Describe(ended, step); d.Reason == "" || d.Message == "" {
			t.Errorf("%T describes itself as %+v", step, d)
		}
	}
}

func TestTheStatusReportsTheAlarmsOfTheSnapshot(t *testing.T) {
	s := given(withProven)
	s.Restore.Status.Snapshot.Alarms = "CORRUPT, NOSPACE"
	after := NewStatus(s, next(s), nil)
	verified := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionVerified)
	if !strings.Contains(verified.Message, "has the alarms CORRUPT, NOSPACE") || !strings.Contains(verified.Message, "had different data") {
		t.Error(verified.Message)
	}
}

func TestTheStatusSaysWhoReadsTheSnapshotIfNoSecretIsNamed(t *testing.T) {
	s := given(withProven)
	message := func() string {
		return meta.FindStatusCondition(NewStatus(s, next(s), nil).Conditions, v1beta2.ConditionVerified).Message
	}
	if strings.Contains(message(), "ServiceAccount") {
		t.Error(message())
	}
	s.Restore.Status.Source.Secret = ""
	if !strings.Contains(message(), "as the ServiceAccount of the members") {
		t.Error(message())
	}
}
