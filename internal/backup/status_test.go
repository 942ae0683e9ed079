package backup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// picture is a status in few lines: each condition as "Type=Status Reason", and further fields.
func picture(s v1beta2.EtcdBackupStatus) string {
	var lines []string
	for _, c := range s.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(lines)
	facts := []string{fmt.Sprintf("succeeded=%v attempts=%d", s.Succeeded, s.Attempts)}
	add := func(name string, t *metav1.Time) {
		if t != nil {
			facts = append(facts, name+"="+t.UTC().Format("15:04:05"))
		}
	}
	add("began", s.LastAttemptTime)
	add("next", s.NextTime)
	add("success", s.LastSuccessDate)
	if s.Snapshot != nil {
		facts = append(facts, fmt.Sprintf("revision=%d version=%s", s.EtcdRevision, s.EtcdVersion))
	}
	return strings.Join(append(lines, strings.Join(facts, " ")), "\n") + "\n"
}

func message(s v1beta2.EtcdBackupStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

func ended(number int32, r Result) change {
	r.EndedAt = t0
	return attempt(Attempt{Generation: 1, Number: number, StartedAt: t0.Add(-3 * time.Second), Result: &r})
}

func snapshotAt(path string, at time.Time) *v1beta2.Snapshot {
	return &v1beta2.Snapshot{Path: path, Revision: 42, Keys: 7, Size: 4096, EtcdVersion: "3.6.16", CreatedAt: stamp(at)}
}

func TestTheConditionsOfEachStep(t *testing.T) {
	denied := &Failure{v1beta2.ReasonAccessDenied, "access denied"}
	exists := &Failure{v1beta2.ReasonObjectExists, "it exists"}
	seriesPath := "bucket/dir/snap.db/ns/b/1/x.db"

	tests := map[string]struct {
		state State
		step  Step
		err   error
		want  string
	}{
		"has every condition from the first pass on": {one(), RemoveFinalizer{}, nil, `
Complete=False Pending
Failed=False Pending
Ready=False Pending
Running=False Pending
Stalled=False Pending
succeeded=false attempts=0
`},
		"a snapshot is being taken": {one(), TakeSnapshot{Number: 1}, nil, `
Complete=False Running
Failed=False Running
Ready=False Running
Running=True Running
Stalled=False Running
succeeded=false attempts=1 began=10:00:00
`},
		"a one-shot is complete and ready": {one(ended(2, Result{Snapshot: snapshotAt("bucket/dir/snap.db", t0.Add(-time.Second))})), Report{}, nil, `
Complete=True Complete
Failed=False Complete
Ready=True Complete
Running=False Complete
Stalled=False Complete
succeeded=true attempts=2 began=09:59:57 success=10:00:00 revision=42 version=3.6.16
`},
		"a temporary failure is retried and does not stall": {one(ended(1, Result{Failure: denied})), Report{}, nil, `
Complete=False AccessDenied
Failed=False AccessDenied
Ready=False AccessDenied
Running=False AccessDenied
Stalled=False AccessDenied
succeeded=false attempts=1 began=09:59:57 next=10:00:05
`},
		"the pause grows with the attempts": {one(ended(4, Result{Failure: denied})), Report{}, nil, `
Complete=False AccessDenied
Failed=False AccessDenied
Ready=False AccessDenied
Running=False AccessDenied
Stalled=False AccessDenied
succeeded=false attempts=4 began=09:59:57 next=10:00:40
`},
		"a one-shot whose object exists has failed for good": {one(ended(1, Result{Failure: exists})), Report{}, nil, `
Complete=False ObjectExists
Failed=True ObjectExists
Ready=False ObjectExists
Running=False ObjectExists
Stalled=True ObjectExists
succeeded=false attempts=1 began=09:59:57
`},
		"a series continues although the object exists": {series(ended(1, Result{Failure: exists})), Report{}, nil, `
Complete=False ObjectExists
Failed=False ObjectExists
Ready=False ObjectExists
Running=False ObjectExists
Stalled=False ObjectExists
succeeded=false attempts=1 began=09:59:57 next=10:00:05
`},
		"a series that took a snapshot is ready and counts from when it was taken": {series(ended(2, Result{Snapshot: snapshotAt(seriesPath, t0.Add(-2*time.Second))})), Report{}, nil, `
Complete=False Scheduled
Failed=False Scheduled
Ready=True Scheduled
Running=False Scheduled
Stalled=False Scheduled
succeeded=true attempts=0 began=09:59:57 next=10:59:58 success=10:00:00 revision=42 version=3.6.16
`},
		"a series whose status was lost counts from the snapshot in the store": {series(ended(1, Result{Found: true, Snapshot: snapshotAt(seriesPath, t0.Add(-30*time.Minute))})), Report{}, nil, `
Complete=False Scheduled
Failed=False Scheduled
Ready=True Scheduled
Running=False Scheduled
Stalled=False Scheduled
succeeded=true attempts=0 began=09:59:57 next=10:30:00 success=09:30:00 revision=42 version=3.6.16
`},
		"a spec that can never work stalls": {one(), Refuse{Reason: "InvalidSpec", Message: "m"}, nil, `
Complete=False InvalidSpec
Failed=True InvalidSpec
Ready=False InvalidSpec
Running=False InvalidSpec
Stalled=True InvalidSpec
succeeded=false attempts=0
`},
		"waiting for a cluster is no failure": {one(), Wait{Reason: "ClusterNotFound", Message: "m"}, nil, `
Complete=False ClusterNotFound
Failed=False ClusterNotFound
Ready=False ClusterNotFound
Running=False ClusterNotFound
Stalled=False ClusterNotFound
succeeded=false attempts=0
`},
		"an attempt during which the operator stopped is reported with the next time": {one(stopped(1, time.Second)), Backoff{At: t0.Add(4 * time.Second), Interrupted: true}, nil, `
Complete=False Retrying
Failed=False Retrying
Ready=False Retrying
Running=False Retrying
Stalled=False Retrying
succeeded=false attempts=1 began=09:59:59 next=10:00:04
`},
		"a failed effect is reported and does not count as an attempt": {one(), TakeSnapshot{Number: 1}, errors.New("stopping"), `
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
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), picture(got)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got.ObservedGeneration != test.state.Generation {
				t.Errorf("observedGeneration %d, want %d", got.ObservedGeneration, test.state.Generation)
			}
		})
	}
}

// after is the State of the next pass, when nothing else has changed.
func after(s State, step Step, changes ...change) State {
	s.Status = NewStatus(s, step, nil)
	return with(s, changes...)
}

func with(s State, changes ...change) State {
	for _, c := range changes {
		c(&s)
	}
	return s
}

func TestTheStatusKeepsItsFacts(t *testing.T) {
	idle := func(s *State) { s.Attempt = nil }
	denied := after(one(ended(1, Result{Failure: &Failure{v1beta2.ReasonAccessDenied, "access denied"}})), Report{}, idle)
	taken := after(series(ended(1, Result{
		Snapshot: snapshotAt("bucket/dir/snap.db/ns/b/1/x.db", t0.Add(-1500*time.Millisecond)), PruneProblem: "object lock",
	})), Report{}, idle)
	complete := after(one(ended(1, Result{Snapshot: snapshotAt("bucket/dir/snap.db", t0)})), Report{}, idle)

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
		s := after(denied, TakeSnapshot{Number: 2})
		if m := message(s.Status, "Ready"); !strings.HasPrefix(m, "access denied") {
			t.Errorf("Ready says %q", m)
		}
	})
	t.Run("a series stays ready while its next snapshot is taken", func(t *testing.T) {
		s := after(taken, TakeSnapshot{Number: 1})
		if !strings.Contains(picture(s.Status), "Ready=True Scheduled") || !strings.Contains(picture(s.Status), "Running=True") {
			t.Error(picture(s.Status))
		}
	})
	t.Run("a complete one-shot is not complete after a change of its spec", func(t *testing.T) {
		s := after(with(complete, edited), TakeSnapshot{Number: 1})
		if !strings.Contains(picture(s.Status), "Complete=False") || !strings.Contains(picture(s.Status), "Ready=False") {
			t.Error(picture(s.Status))
		}
	})
	t.Run("the last verified snapshot stays in the status when the next attempt fails", func(t *testing.T) {
		s := after(with(taken, ended(1, Result{Failure: &Failure{v1beta2.ReasonAccessDenied, "access denied"}})), Report{})
		if s.Status.Snapshot == nil || s.Status.LastSuccessDate == nil || s.Status.Succeeded {
			t.Error(picture(s.Status))
		}
	})
	t.Run("a long answer of a server is shortened", func(t *testing.T) {
		s := after(one(), Wait{Reason: "ClusterNotAvailable", Message: strings.Repeat("ü", 5000)})
		if m := message(s.Status, "Ready"); len(m) > 1600 || !strings.HasSuffix(m, "ü…") {
			t.Errorf("%d bytes, ending in %q", len(m), m[len(m)-8:])
		}
	})
}

// unchanged plans and reports once more, and nothing may differ: a settled EtcdBackup causes no API write.
func unchanged(t *testing.T, s State) {
	t.Helper()
	again := NewStatus(s, next(s), nil)
	if !equality.Semantic.DeepEqual(s.Status, again) {
		t.Errorf("%T changed the status (-before +after):\n%s", next(s), cmp.Diff(s.Status, again))
	}
}

func TestTheOldStatusFieldsAreStillWritten(t *testing.T) {
	failed := after(one(ended(1, Result{Failure: &Failure{v1beta2.ReasonAccessDenied, "access denied"}})), Report{})
	if failed.Status.Succeeded || failed.Status.Reason != "AccessDenied: access denied" {
		t.Errorf("succeeded %v, Reason %q", failed.Status.Succeeded, failed.Status.Reason)
	}
	s := after(with(failed, ended(2, Result{Snapshot: snapshotAt("bucket/dir/snap.db", t0)})), Report{})
	if !s.Status.Succeeded || s.Status.Reason != "" || s.Status.EtcdVersion != "3.6.16" || s.Status.EtcdRevision != 42 {
		t.Errorf("%+v", s.Status)
	}
}

func TestProgressIsOneSentence(t *testing.T) {
	tests := map[string]struct {
		progress Progress
		want     string
	}{
		"a queued attempt":                           {Progress{}, "The attempt is queued. It starts when a worker of the operator is free."},
		"an attempt with a stage":                    {Progress{Stage: "reading"}, "The operator is reading."},
		"an attempt with bytes and a total":          {Progress{Stage: "streaming", Bytes: 3 << 19, About: 40 << 20}, "The operator is streaming: 1.5 MiB of about 40.0 MiB."},
		"an attempt with bytes and an unknown total": {Progress{Stage: "streaming", Bytes: 1 << 20}, "The operator is streaming: 1.0 MiB."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.progress.String(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestTheEventsOfEachStep(t *testing.T) {
	tests := map[string]struct {
		state State
		step  Step
		want  []planning.Event
	}{
		"reports a snapshot": {one(ended(1, Result{Snapshot: snapshotAt("b/k", t0)})), Report{}, []planning.Event{
			{Type: "Normal", Reason: "SnapshotTaken", Action: "TakeSnapshot", Note: "Snapshot b/k holds revision 42, with 7 keys and 4096 bytes. It took 3s."},
		}},
		"does not report a snapshot that existed before": {series(ended(1, Result{Found: true, Snapshot: snapshotAt("b/k", t0)})), Report{}, nil},
		"warns about a failure": {one(ended(2, Result{Failure: &Failure{"AccessDenied", "denied"}})), Report{}, []planning.Event{
			{Type: "Warning", Reason: "AccessDenied", Action: "TakeSnapshot", Note: "Attempt 2 to take a snapshot failed. denied"},
		}},
		"reports a snapshot and a failed deletion": {series(ended(1, Result{Snapshot: snapshotAt("b/k", t0), Pruned: 1, PruneProblem: "locked"})), Report{}, []planning.Event{
			{Type: "Normal", Reason: "SnapshotTaken", Action: "TakeSnapshot", Note: "Snapshot b/k holds revision 42, with 7 keys and 4096 bytes. It took 3s."},
			{Type: "Normal", Reason: "SnapshotsRemoved", Action: "RemoveSnapshots", Note: "The operator deleted old snapshots: 1."},
			{Type: "Warning", Reason: "RemoveFailed", Action: "RemoveSnapshots", Note: "locked"},
		}},
		"warns about an invalid spec":       {one(), Refuse{Reason: "InvalidSpec", Message: "m"}, []planning.Event{{Type: "Warning", Reason: "InvalidSpec", Action: "Validate", Note: "m"}}},
		"publishes no event while it waits": {one(), Wait{Reason: "SecretMissing"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.step.describe(test.state).Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
