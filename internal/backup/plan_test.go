package backup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// t0 is when every test's State is looked at.
var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// change makes one State differ from another.
type change func(*State)

// one is a one-shot by endpoints that was looked at once and never tried.
func one(changes ...change) State {
	s := State{
		Namespace: "ns", Name: "b", UID: "u", Generation: 1,
		Spec: v1beta2.EtcdBackupSpec{
			EtcdEndpoints: []string{"http://10.0.0.1:2379"},
			StorageType:   v1beta2.StorageS3,
			Storage:       v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket/dir/snap.db"}},
		},
		Status: v1beta2.EtcdBackupStatus{ObservedGeneration: 1},
		Now:    t0,
	}
	for _, c := range changes {
		c(&s)
	}
	s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
	return s
}

// series takes a snapshot each hour.
func series(changes ...change) State {
	return one(append([]change{every(time.Hour)}, changes...)...)
}

func every(d time.Duration) change {
	return func(s *State) {
		s.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: int64(d / time.Second)}
	}
}

// proven: the newest snapshot of the series was taken so long ago.
func proven(ago time.Duration) change {
	return func(s *State) {
		at := t0.Add(-ago)
		s.Status.Succeeded = true
		s.Status.LastSuccessDate = &metav1.Time{Time: at}
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db", CreatedAt: stamp(at)}
	}
}

// failedTries: so many attempts failed, and the next is due in so long.
func failedTries(n int32, in time.Duration) change {
	return func(s *State) {
		s.Status.Succeeded, s.Status.Attempts = false, n
		s.Status.LastAttemptTime = &metav1.Time{Time: t0.Add(-time.Minute)}
		s.Status.NextTime = &metav1.Time{Time: t0.Add(in)}
	}
}

// stopped: the operator was stopped during an attempt that began so long ago.
func stopped(n int32, ago time.Duration) change {
	return func(s *State) {
		s.Status.Attempts, s.Status.NextTime = n, nil
		s.Status.LastAttemptTime = &metav1.Time{Time: t0.Add(-ago)}
	}
}

// of names an EtcdCluster instead of endpoints.
func of(c *Cluster) change {
	return func(s *State) {
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster, s.Cluster = nil, &v1beta2.ClusterReference{Name: "etcd"}, c
	}
}

func available() *Cluster {
	return &Cluster{Name: "etcd", ID: "0000000000000001", Available: true, ClientURLs: []string{"http://a:2379"}}
}

func attempt(a Attempt) change { return func(s *State) { s.Attempt = &a } }

func condition(kind, reason string, generation int64) change {
	return func(s *State) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation,
		})
	}
}

func edited(s *State)       { s.Generation = 2 }
func deleted(s *State)      { s.Deleting = true }
func oldFinalizer(s *State) { s.OldFinalizer = true }

func TestPlan(t *testing.T) {
	secretMissing := func(s *State) { s.SecretProblem = "create Secret aws" }
	running := attempt(Attempt{Generation: 1, Number: 1})
	ended := attempt(Attempt{Generation: 1, Number: 1, Result: &Result{}})
	oss := func(s *State) { s.Spec.StorageType = v1beta2.StorageOSS }

	tests := map[string]struct {
		state State
		want  Step
	}{
		"takes the snapshot of a one-shot at once":                       {one(), TakeSnapshot{Number: 1}},
		"takes the first snapshot of a series at once":                   {series(), TakeSnapshot{Number: 1}},
		"takes the snapshot of an EtcdCluster that is available":         {one(of(available())), TakeSnapshot{Number: 1}},
		"watches an attempt that runs":                                   {one(running), Watch{}},
		"reports an attempt that ended":                                  {one(ended), Report{}},
		"reports before it takes another":                                {series(proven(2*time.Hour), ended), Report{}},
		"a one-shot that is complete stays so":                           {one(condition("Complete", "Complete", 1)), Finished{Complete: true}},
		"a one-shot that met an existing object stays failed":            {one(condition("Failed", "ObjectExists", 1)), Finished{}},
		"a one-shot with a corrupt snapshot stays failed":                {one(condition("Failed", "SnapshotCorrupt", 1)), Finished{}},
		"a one-shot that is complete is tried again after an edit":       {one(condition("Complete", "Complete", 1), edited), TakeSnapshot{Number: 1}},
		"a one-shot that failed is tried again after an edit":            {one(condition("Failed", "ObjectExists", 1), edited), TakeSnapshot{Number: 1}},
		"a spec that an older operator refused is looked at anew":        {one(condition("Failed", "StorageNotSupported", 1)), TakeSnapshot{Number: 1}},
		"a complete one-shot does not care whether its cluster is there": {one(of(nil), condition("Complete", "Complete", 1)), Finished{Complete: true}},
		"waits until the next snapshot of a series is due":               {series(proven(20 * time.Minute)), Scheduled{At: t0.Add(40 * time.Minute)}},
		"takes the next snapshot of a series at its exact time":          {series(proven(time.Hour)), TakeSnapshot{Number: 1}},
		"takes one snapshot for ten that were missed":                    {series(proven(10 * time.Hour)), TakeSnapshot{Number: 1}},
		"a shorter interval counts from the newest snapshot":             {series(proven(20*time.Minute), every(30*time.Minute), edited), Scheduled{At: t0.Add(10 * time.Minute)}},
		"a series that moved to another folder starts at once": {series(proven(time.Minute), func(s *State) {
			s.Spec.S3 = &v1beta2.S3Source{Path: "bucket/elsewhere"}
		}), TakeSnapshot{Number: 1}},
		"an unavailable cluster is of no interest until a snapshot is due": {series(proven(time.Minute), of(nil)), Scheduled{At: t0.Add(59 * time.Minute)}},
		"waits after a failed attempt until the next is due":               {one(failedTries(2, 7*time.Second)), Backoff{At: t0.Add(7 * time.Second)}},
		"tries again when it is due":                                       {one(failedTries(2, 0)), TakeSnapshot{Number: 3}},
		"tries a failed snapshot of a series again before the next one":    {series(proven(90*time.Minute), failedTries(1, 0)), TakeSnapshot{Number: 2}},
		"tries at once after an edit, whatever failed before":              {one(failedTries(7, 5*time.Minute), edited), TakeSnapshot{Number: 1}},
		"an attempt that the operator did not survive counts as failed":    {one(stopped(1, time.Second)), Backoff{At: t0.Add(4 * time.Second), Interrupted: true}},
		"the same in a series that succeeded before":                       {series(proven(2*time.Hour), stopped(1, time.Second)), Backoff{At: t0.Add(4 * time.Second), Interrupted: true}},
		"tries again after an attempt that the operator did not survive":   {one(stopped(1, time.Minute)), TakeSnapshot{Number: 2}},
		"waits for a Secret":                           {one(secretMissing), Wait{Why: "SecretMissing", Message: "create Secret aws", Again: secretPeriod}},
		"refuses before it looks at anything else":     {one(oss, secretMissing), Refuse{Why: "StorageNotSupported", Message: problemOf(oss)}},
		"ends the attempt of an old spec":              {one(running, edited), Cancel{}},
		"drops the result of an old spec":              {one(ended, edited), Cancel{}},
		"ends the attempt of what is being deleted":    {one(running, deleted), Cancel{}},
		"drops the result of what is being deleted":    {one(ended, deleted), Cancel{}},
		"starts nothing for what is being deleted":     {one(deleted), Idle{}},
		"lets go of an old EtcdBackup before all else": {one(deleted, running, oldFinalizer), RemoveFinalizer{}},
		"waits for an EtcdCluster that does not exist": {one(of(nil)), Wait{
			Why:     "ClusterNotFound",
			Message: "there is no EtcdCluster etcd in namespace ns: create it, correct etcdCluster.name, or write etcdEndpoints for an etcd that is not managed here",
		}},
		"waits for an EtcdCluster that serves no clients": {one(of(&Cluster{Message: "no quorum"})), Wait{
			Why: "ClusterNotAvailable", Message: "EtcdCluster etcd does not serve clients: no quorum",
		}},
		"waits for an EtcdCluster that has no members yet": {one(of(&Cluster{Available: true})), Wait{
			Why: "ClusterNotAvailable", Message: "EtcdCluster etcd names no member in its status yet",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func problemOf(c change) string { return one(c).Problem.Message }

// TestPlanOrder: the order is part of the contract.
func TestPlanOrder(t *testing.T) {
	want := []string{
		"removeFinalizer", // a user's delete must not hang, whatever else is wrong
		"deleting",        // nothing is started for what goes away
		"supersede",       // an attempt for another spec is neither shown nor reported
		"report",          // a result is told before anything new begins
		"watch",           // one attempt at a time
		"refuse",          // recomputed each time, so a newer operator may see it otherwise
		"hold",            // before anything is written that would have to go
		"expire",          // before a drill of what goes
		"drill",           // a one-shot that ended is still tried out
		"finished",        // a one-shot ends once
		"suspend",         // not even what failed is tried again
		"awaitSchedule",   // until it is due, nothing about the source matters
		"backoff",         // the failure stays shown until the next attempt is due
		"awaitCluster",
		"awaitSecret",
		"takeSnapshot",
	}
	var got []string
	for _, r := range rules {
		got = append(got, r.name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestDelay(t *testing.T) {
	tests := map[string]struct {
		failed int32
		want   time.Duration
	}{
		"five seconds after the first":  {1, 5 * time.Second},
		"twice that after the second":   {2, 10 * time.Second},
		"80 s after the fifth":          {5, 80 * time.Second},
		"five minutes and never longer": {7, 5 * time.Minute},
		"also after very many":          {1 << 30, 5 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := delay(test.failed); got != test.want {
				t.Errorf("delay(%d) = %s, want %s", test.failed, got, test.want)
			}
		})
	}
}

func TestRequeue(t *testing.T) {
	tests := map[string]struct {
		step Step
		want time.Duration
	}{
		"looks again when the next attempt is due":  {Backoff{At: t0.Add(7 * time.Second)}, 7 * time.Second},
		"looks again when the next snapshot is due": {Scheduled{At: t0.Add(time.Hour)}, time.Hour},
		"what became due meanwhile is done now":     {Scheduled{At: t0.Add(-time.Second)}, atOnce},
		"leaves a cluster to its watch":             {Wait{Why: "ClusterNotFound"}, 0},
		"looks for a Secret again":                  {Wait{Why: "SecretMissing", Again: secretPeriod}, secretPeriod},
		"a finished one-shot is left alone":         {Finished{Complete: true}, 0},
		"a refused one too":                         {Refuse{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.step.Requeue(t0); got != test.want {
				t.Errorf("requeue after %s, want %s", got, test.want)
			}
		})
	}
}
