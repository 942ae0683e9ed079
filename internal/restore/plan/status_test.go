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
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
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
	for name, step := range map[string]steps.Step{
		"when the source is bad":        steps.Fail{Reason: v1beta2.ReasonInvalidSpec, Message: "why"},
		"when the source is being read": steps.Verify{Source: theSource},
		"when the restore must wait":    steps.Wait{Reason: v1beta2.ReasonBackupNotFound, Message: "why"},
	} {
		t.Run(name, func(t *testing.T) {
			s := given()
			s.Restore.Generation = 5
			s.Restore.Status.ObservedGeneration = -1
			status := status.New(s, step, nil)
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
		step steps.Step
		want map[string]string
	}{
		"while the source is read": {steps.Verifying{}, map[string]string{
			"Ready": "False/Verifying", "Verified": "False/Verifying", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verifying", "Stalled": "False/Verifying",
		}},
		"when the snapshot is verified": {steps.Accept{Source: theSource, Snapshot: theSnapshot}, map[string]string{
			"Ready": "False/Verified", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/Verified", "Stalled": "False/Verified",
		}},
		"after a temporary failure": {steps.Wait{Reason: v1beta2.ReasonAccessDenied, Message: "why", Failure: true, Patient: true}, map[string]string{
			"Ready": "False/AccessDenied", "Verified": "False/AccessDenied", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/AccessDenied", "Stalled": "False/AccessDenied",
		}},
		"when the snapshot can never be valid": {steps.Fail{Reason: v1beta2.ReasonSnapshotCorrupt, Message: "why"}, map[string]string{
			"Ready": "False/SnapshotCorrupt", "Verified": "False/SnapshotCorrupt", "Restoring": "False/SnapshotCorrupt",
			"Complete": "False/SnapshotCorrupt", "Failed": "True/SnapshotCorrupt", "Stalled": "True/SnapshotCorrupt",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(status.New(given(), test.step, nil))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	for name, test := range map[string]struct {
		step steps.Step
		want map[string]string
	}{
		"while the seed is restored": {steps.Follow{Cluster: *progress(v1beta2.RestoreSeeding)}, map[string]string{
			"Ready": "False/Seeding", "Verified": "True/Verified", "Restoring": "True/Seeding",
			"Complete": "False/Seeding", "Failed": "False/Seeding", "Stalled": "False/Seeding",
		}},
		"while the cluster grows": {steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)}, map[string]string{
			"Ready": "False/Growing", "Verified": "True/Verified", "Restoring": "True/Growing",
			"Complete": "False/Growing", "Failed": "False/Growing", "Stalled": "False/Growing",
		}},
		"when the cluster is restored": {steps.Complete{Cluster: *progress(v1beta2.RestoreComplete)}, map[string]string{
			"Ready": "True/Complete", "Verified": "True/Verified", "Restoring": "False/Complete",
			"Complete": "True/Complete", "Failed": "False/Complete", "Stalled": "False/Complete",
		}},
		"when the seed failed": {steps.Fail{Reason: v1beta2.ReasonSeedFailed, Message: "why"}, map[string]string{
			"Ready": "False/SeedFailed", "Verified": "True/Verified", "Restoring": "False/SeedFailed",
			"Complete": "False/SeedFailed", "Failed": "True/SeedFailed", "Stalled": "True/SeedFailed",
		}},
		"while the restore waits for a cluster": {steps.Wait{Reason: v1beta2.ReasonWaitingForCluster}, map[string]string{
			"Ready": "False/WaitingForCluster", "Verified": "True/Verified", "Restoring": "False/Pending",
			"Complete": "False/Pending", "Failed": "False/WaitingForCluster", "Stalled": "False/WaitingForCluster",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(status.New(given(withProven), test.step, nil))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Defect 1 of coreos/etcd-operator: a restore always reported success, and did so before its seed ran.
func TestSucceededIsFalseUntilTheClusterIsRestored(t *testing.T) {
	for name, step := range map[string]steps.Step{
		"when the snapshot is verified": steps.Accept{Source: theSource, Snapshot: theSnapshot},
		"while the restore waits":       steps.Wait{Reason: v1beta2.ReasonVerified},
		"while the seed is restored":    steps.Follow{Cluster: *progress(v1beta2.RestoreSeeding)},
		"while the cluster switches":    steps.Follow{Cluster: *progress(v1beta2.RestoreSwitching)},
		"while the cluster grows":       steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)},
		"when the seed failed":          steps.Fail{Reason: v1beta2.ReasonSeedFailed, Message: "why"},
		"when the snapshot is broken":   steps.Fail{Reason: v1beta2.ReasonSnapshotCorrupt, Message: "why"},
	} {
		t.Run(name, func(t *testing.T) {
			status := status.New(given(withProven), step, nil)
			if status.Succeeded || meta.IsStatusConditionTrue(status.Conditions, "Complete") || meta.IsStatusConditionTrue(status.Conditions, "Ready") {
				t.Errorf("succeeded is %v, conditions are %v", status.Succeeded, short(status))
			}
			if _, ended := step.(steps.Fail); ended != (status.CompletionTime != nil) {
				t.Errorf("completionTime is %v", status.CompletionTime)
			}
		})
	}
	t.Run("is true when the cluster is restored", func(t *testing.T) {
		status := status.New(given(withProven), steps.Complete{Cluster: *progress(v1beta2.RestoreComplete)}, nil)
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
		step steps.Step
		want string
	}{
		"has the message of a final failure":  {steps.Fail{Reason: v1beta2.ReasonSnapshotCorrupt, Message: "why"}, "why"},
		"after a temporary failure":           {steps.Wait{Reason: v1beta2.ReasonStoreUnreachable, Message: "why", Failure: true, Patient: true}, "why"},
		"is empty while the restore waits":    {steps.Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"}, ""},
		"is empty when the restore continues": {steps.Follow{Cluster: *progress(v1beta2.RestoreSeeding)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(func(s *state.State) { s.Restore.Status.Reason = "what it was before" })
			if got := status.New(s, test.step, nil).Reason; got != test.want {
				t.Errorf("reason is %q", got)
			}
		})
	}
}

func TestARetryKeepsTheConditionOfTheFailedAttempt(t *testing.T) {
	s := given()
	s.Restore.Status = status.New(s, steps.Verify{Source: theSource}, nil)
	if s.Restore.Status.Attempts != 1 {
		t.Errorf("attempts is %d after the first", s.Restore.Status.Attempts)
	}
	s.Restore.Status = status.New(s, steps.Wait{Reason: v1beta2.ReasonAccessDenied, Message: "why", Failure: true, Patient: true}, nil)
	for _, step := range []steps.Step{steps.Verify{Source: theSource}, steps.Verifying{}} {
		s.Restore.Status = status.New(s, step, nil)
		if got := meta.FindStatusCondition(s.Restore.Status.Conditions, "Ready"); got.Reason != v1beta2.ReasonAccessDenied || got.Message != "why" {
			t.Errorf("during the second attempt Ready is %s: %s", got.Reason, got.Message)
		}
	}
	if s.Restore.Status.Attempts != 2 {
		t.Errorf("attempts is %d after the second", s.Restore.Status.Attempts)
	}
	s.Restore.Status = status.New(s, steps.Accept{Source: theSource, Snapshot: theSnapshot}, nil)
	if s.Restore.Status.Reason != "" || s.Restore.Status.Snapshot == nil {
		t.Errorf("after it succeeded the status is %+v", s.Restore.Status)
	}
}

func TestTheStatusDoesNotChangeIfNothingHasChanged(t *testing.T) {
	for name, step := range map[string]steps.Step{
		"while the snapshot is read":            steps.Verifying{},
		"while the restore waits":               steps.Wait{Patient: true, Reason: v1beta2.ReasonWaitingForCluster, Message: "for what"},
		"while the restore follows the cluster": steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(withProven)
			s.Restore.Status = status.New(s, step, nil)
			s.Now = now.Add(time.Hour)
			if diff := cmp.Diff(s.Restore.Status, status.New(s, step, nil)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestLongMessagesAreShortened(t *testing.T) {
	status := status.New(given(), steps.Fail{Reason: v1beta2.ReasonSnapshotCorrupt, Message: strings.Repeat("ü", 5000)}, nil)
	for _, c := range status.Conditions {
		if len(c.Message) > 1024 || strings.ContainsRune(c.Message, '\uFFFD') {
			t.Errorf("condition %s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

func TestAnEventIsPublishedWhenTheReasonChanges(t *testing.T) {
	ready := func(reason, old string) func(*state.State) {
		return func(s *state.State) {
			s.Restore.Status.Attempts, s.Restore.Status.Reason = 1, old
			s.Restore.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: reason, Message: "before"}}
		}
	}
	event := func(kind, reason, note string) []planning.Event {
		return []planning.Event{{Type: kind, Reason: reason, Action: "Restore", Note: note}}
	}
	seeding := *progress(v1beta2.RestoreSeeding)
	for name, test := range map[string]struct {
		state state.State
		step  steps.Step
		want  []planning.Event
	}{
		"an event for the first reason":        {given(), steps.Wait{Reason: "Queued", Message: "m"}, event("Normal", "Queued", "m")},
		"an event for a new reason":            {given(ready("Verifying", "")), steps.Follow{Cluster: seeding}, event("Normal", "Seeding", "what the cluster says")},
		"a warning for a temporary failure":    {given(ready("Verifying", "")), steps.Wait{Reason: "AccessDenied", Message: "m", Failure: true}, event("Warning", "AccessDenied", "m")},
		"a warning for a final failure":        {given(ready("Verifying", "")), steps.Fail{Reason: "SnapshotCorrupt", Message: "m"}, event("Warning", "SnapshotCorrupt", "m")},
		"no event if only the message changes": {given(ready("Seeding", "")), steps.Follow{Cluster: seeding}, nil},
		"no event for a retry":                 {given(ready("AccessDenied", "why")), steps.Verify{Source: theSource}, nil},
		"no event for a finished restore":      {given(), steps.Done{}, nil},
		"no event for an expired restore":      {given(), steps.Expire{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, steps.Describe(test.state, test.step).Events); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			status := status.New(test.state, test.step, nil)
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
	after := status.New(s, steps.Verify{Source: theSource}, errors.New("no answer"))
	ready := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1beta2.ReasonRetrying || ready.Message != "no answer" {
		t.Errorf("Ready is %+v", ready)
	}
	after.Conditions = s.Restore.Status.Conditions
	if diff := cmp.Diff(s.Restore.Status, after); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if done := status.New(s, steps.Expire{}, errors.New("no answer")); !cmp.Equal(s.Restore.Status, done) {
		t.Error("a restore that has ended is no longer what it was")
	}
}

// everyStep has one step of each type.
var everyStep = []steps.Step{
	steps.Done{}, steps.Expire{}, steps.Verify{Source: theSource}, steps.Verifying{Percent: 5}, steps.Interrupted{}, steps.Wait{Reason: "Queued", Message: "A sentence."},
	steps.Accept{Source: theSource, Snapshot: theSnapshot}, steps.Follow{Cluster: *progress(v1beta2.RestoreSeeding)},
	steps.Complete{Cluster: *progress(v1beta2.RestoreComplete)}, steps.Fail{Reason: "SeedFailed", Message: "A sentence."}, steps.Inherit{},
	steps.SaveOldData{Cluster: *progress(v1beta2.RestoreSeeding)}, steps.RecordSafety{Cluster: *progress(v1beta2.RestoreSeeding)},
	steps.Proved{Snapshot: theSnapshot}, steps.RenewURL{}, steps.RecordURL{}, steps.RestoreKeys{}, steps.CompleteKeys{},
}

func TestEveryStepIsKnownAndDescribesItself(t *testing.T) {
	if diff := cmp.Diff(planningtest.StepTypes(t, "../steps"), planningtest.TypesOf(everyStep)); diff != "" {
		t.Errorf("everyStep: source -, list +:\n%s", diff)
	}
	ended := given(withProven, func(s *state.State) {
		s.Restore.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: "Complete", Message: "A sentence."}}
	})
	for _, step := range everyStep {
		if d := steps.Describe(ended, step); d.Reason == "" || d.Message == "" {
			t.Errorf("%T describes itself as %+v", step, d)
		}
	}
}

func TestTheStatusReportsTheAlarmsOfTheSnapshot(t *testing.T) {
	s := given(withProven)
	s.Restore.Status.Snapshot.Alarms = "CORRUPT, NOSPACE"
	after := status.New(s, next(s), nil)
	verified := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionVerified)
	if !strings.Contains(verified.Message, "has the alarms CORRUPT, NOSPACE") || !strings.Contains(verified.Message, "had different data") {
		t.Error(verified.Message)
	}
}

func TestTheStatusSaysWhoReadsTheSnapshotIfNoSecretIsNamed(t *testing.T) {
	s := given(withProven)
	message := func() string {
		return meta.FindStatusCondition(status.New(s, next(s), nil).Conditions, v1beta2.ConditionVerified).Message
	}
	if strings.Contains(message(), "ServiceAccount") {
		t.Error(message())
	}
	s.Restore.Status.Source.Secret = ""
	if !strings.Contains(message(), "as the ServiceAccount of the members") {
		t.Error(message())
	}
}
