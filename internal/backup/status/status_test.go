package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func message(s v1beta2.EtcdBackupStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

func TestTheConditionsOfEachStep(t *testing.T) {
	denied := &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "access denied"}
	exists := &state.Failure{Reason: v1beta2.ReasonObjectExists, Message: "it exists"}
	seriesPath := "bucket/dir/snap.db/ns/b/1/x.db"

	tests := map[string]struct {
		state state.State
		step  plan.Step
		err   error
		want  string
	}{
		"has every condition from the first pass on": {statetest.One(), plan.RemoveFinalizer{}, nil, `
Complete=False Pending
Failed=False Pending
Ready=False Pending
Running=False Pending
Stalled=False Pending
succeeded=false attempts=0
`},
		"a snapshot is being taken": {statetest.One(), plan.TakeSnapshot{Number: 1}, nil, `
Complete=False Running
Failed=False Running
Ready=False Running
Running=True Running
Stalled=False Running
succeeded=false attempts=1 began=10:00:00
`},
		"a one-shot is complete and ready": {statetest.One(statetest.Ended(2, state.Result{Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", statetest.T0.Add(-time.Second))})), plan.Report{}, nil, `
Complete=True Complete
Failed=False Complete
Ready=True Complete
Running=False Complete
Stalled=False Complete
succeeded=true attempts=2 began=09:59:57 success=10:00:00 revision=42 version=3.6.16
`},
		"a temporary failure is retried and does not stall": {statetest.One(statetest.Ended(1, state.Result{Failure: denied})), plan.Report{}, nil, `
Complete=False AccessDenied
Failed=False AccessDenied
Ready=False AccessDenied
Running=False AccessDenied
Stalled=False AccessDenied
succeeded=false attempts=1 began=09:59:57 next=10:00:05
`},
		"the pause grows with the attempts": {statetest.One(statetest.Ended(4, state.Result{Failure: denied})), plan.Report{}, nil, `
Complete=False AccessDenied
Failed=False AccessDenied
Ready=False AccessDenied
Running=False AccessDenied
Stalled=False AccessDenied
succeeded=false attempts=4 began=09:59:57 next=10:00:40
`},
		"a one-shot whose object exists has failed for good": {statetest.One(statetest.Ended(1, state.Result{Failure: exists})), plan.Report{}, nil, `
Complete=False ObjectExists
Failed=True ObjectExists
Ready=False ObjectExists
Running=False ObjectExists
Stalled=True ObjectExists
succeeded=false attempts=1 began=09:59:57
`},
		"a series continues although the object exists": {statetest.Series(statetest.Ended(1, state.Result{Failure: exists})), plan.Report{}, nil, `
Complete=False ObjectExists
Failed=False ObjectExists
Ready=False ObjectExists
Running=False ObjectExists
Stalled=False ObjectExists
succeeded=false attempts=1 began=09:59:57 next=10:00:05
`},
		"a series that took a snapshot is ready and counts from when it was taken": {statetest.Series(statetest.Ended(2, state.Result{Snapshot: statetest.SnapshotAt(seriesPath, statetest.T0.Add(-2*time.Second))})), plan.Report{}, nil, `
Complete=False Scheduled
Failed=False Scheduled
Ready=True Scheduled
Running=False Scheduled
Stalled=False Scheduled
succeeded=true attempts=0 began=09:59:57 next=10:59:58 success=10:00:00 revision=42 version=3.6.16
`},
		"a series whose status was lost counts from the snapshot in the store": {statetest.Series(statetest.Ended(1, state.Result{Found: true, Snapshot: statetest.SnapshotAt(seriesPath, statetest.T0.Add(-30*time.Minute))})), plan.Report{}, nil, `
Complete=False Scheduled
Failed=False Scheduled
Ready=True Scheduled
Running=False Scheduled
Stalled=False Scheduled
succeeded=true attempts=0 began=09:59:57 next=10:30:00 success=09:30:00 revision=42 version=3.6.16
`},
		"a spec that can never work stalls": {statetest.One(), plan.Refuse{Reason: "InvalidSpec", Message: "m"}, nil, `
Complete=False InvalidSpec
Failed=True InvalidSpec
Ready=False InvalidSpec
Running=False InvalidSpec
Stalled=True InvalidSpec
succeeded=false attempts=0
`},
		"waiting for a cluster is no failure": {statetest.One(), plan.Wait{Reason: "ClusterNotFound", Message: "m"}, nil, `
Complete=False ClusterNotFound
Failed=False ClusterNotFound
Ready=False ClusterNotFound
Running=False ClusterNotFound
Stalled=False ClusterNotFound
succeeded=false attempts=0
`},
		"an attempt during which the operator stopped is reported with the next time": {statetest.One(statetest.Stopped(1, time.Second)), plan.Backoff{At: statetest.T0.Add(4 * time.Second), Interrupted: true}, nil, `
Complete=False Retrying
Failed=False Retrying
Ready=False Retrying
Running=False Retrying
Stalled=False Retrying
succeeded=false attempts=1 began=09:59:59 next=10:00:04
`},
		"a failed effect is reported and does not count as an attempt": {statetest.One(), plan.TakeSnapshot{Number: 1}, errors.New("stopping"), `
Complete=False Pending
Failed=False Pending
Ready=False Retrying
Running=False Pending
Stalled=False Pending
succeeded=false attempts=0
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := NewStatus(test.state, test.step, test.err)
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), statetest.Picture(got)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got.ObservedGeneration != test.state.Generation {
				t.Errorf("observedGeneration %d, want %d", got.ObservedGeneration, test.state.Generation)
			}
		})
	}
}

// after is the State of the next pass, when nothing else has changed.
func after(s state.State, step plan.Step, changes ...statetest.Change) state.State {
	s.Status = NewStatus(s, step, nil)
	return with(s, changes...)
}

func with(s state.State, changes ...statetest.Change) state.State {
	for _, c := range changes {
		c(&s)
	}
	return s
}

func TestTheStatusKeepsItsFacts(t *testing.T) {
	idle := func(s *state.State) { s.Attempt = nil }
	denied := after(statetest.One(statetest.Ended(1, state.Result{Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "access denied"}})), plan.Report{}, idle)
	taken := after(statetest.Series(statetest.Ended(1, state.Result{
		Snapshot: statetest.SnapshotAt("bucket/dir/snap.db/ns/b/1/x.db", statetest.T0.Add(-1500*time.Millisecond)), PruneProblem: "object lock",
	})), plan.Report{}, idle)
	complete := after(statetest.One(statetest.Ended(1, state.Result{Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", statetest.T0)})), plan.Report{}, idle)

	t.Run("a failure stays in the status until the next attempt is due", func(t *testing.T) {
		unchanged(t, denied)
	})
	t.Run("a report about the schedule keeps the problem that it mentions", func(t *testing.T) {
		unchanged(t, taken)
		if m := message(taken.Status, "Ready"); !strings.Contains(m, "object lock") {
			t.Errorf("Ready says %q", m)
		}
	})
	t.Run("a complete one-shot causes no write", func(t *testing.T) {
		unchanged(t, complete)
	})
	t.Run("a failure stays in the status while the next attempt runs", func(t *testing.T) {
		s := after(denied, plan.TakeSnapshot{Number: 2})
		if m := message(s.Status, "Ready"); !strings.HasPrefix(m, "access denied") {
			t.Errorf("Ready says %q", m)
		}
	})
	t.Run("a series stays ready while its next snapshot is taken", func(t *testing.T) {
		s := after(taken, plan.TakeSnapshot{Number: 1})
		if !strings.Contains(statetest.Picture(s.Status), "Ready=True Scheduled") || !strings.Contains(statetest.Picture(s.Status), "Running=True") {
			t.Error(statetest.Picture(s.Status))
		}
	})
	t.Run("a complete one-shot is not complete after a change of its spec", func(t *testing.T) {
		s := after(with(complete, statetest.Edited), plan.TakeSnapshot{Number: 1})
		if !strings.Contains(statetest.Picture(s.Status), "Complete=False") || !strings.Contains(statetest.Picture(s.Status), "Ready=False") {
			t.Error(statetest.Picture(s.Status))
		}
	})
	t.Run("the last verified snapshot stays in the status when the next attempt fails", func(t *testing.T) {
		s := after(with(taken, statetest.Ended(1, state.Result{Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "access denied"}})), plan.Report{})
		if s.Status.Snapshot == nil || s.Status.LastSuccessDate == nil || s.Status.Succeeded {
			t.Error(statetest.Picture(s.Status))
		}
	})
	t.Run("a long answer of a server is shortened", func(t *testing.T) {
		s := after(statetest.One(), plan.Wait{Reason: "ClusterNotAvailable", Message: strings.Repeat("ü", 5000)})
		if m := message(s.Status, "Ready"); len(m) > 1600 || !strings.HasSuffix(m, "ü…") {
			t.Errorf("%d bytes, ending in %q", len(m), m[len(m)-8:])
		}
	})
}

// planned is the step that the rules return.
func planned(s state.State) plan.Step {
	step, _ := plan.Plan(s)
	return step
}

// unchanged plans and reports once more, and nothing may differ: a settled EtcdBackup causes no API write.
func unchanged(t *testing.T, s state.State) {
	t.Helper()
	again := NewStatus(s, planned(s), nil)
	if !equality.Semantic.DeepEqual(s.Status, again) {
		t.Errorf("%T changed the status (-before +after):\n%s", planned(s), cmp.Diff(s.Status, again))
	}
}

func TestTheOldStatusFieldsAreStillWritten(t *testing.T) {
	failed := after(statetest.One(statetest.Ended(1, state.Result{Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "access denied"}})), plan.Report{})
	if failed.Status.Succeeded || failed.Status.Reason != "AccessDenied: access denied" {
		t.Errorf("succeeded %v, Reason %q", failed.Status.Succeeded, failed.Status.Reason)
	}
	s := after(with(failed, statetest.Ended(2, state.Result{Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", statetest.T0)})), plan.Report{})
	if !s.Status.Succeeded || s.Status.Reason != "" || s.Status.EtcdVersion != "3.6.16" || s.Status.EtcdRevision != 42 {
		t.Errorf("%+v", s.Status)
	}
}
