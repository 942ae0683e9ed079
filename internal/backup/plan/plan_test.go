package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/planning/planningtest"
)

// next returns the step that the rules return.
func next(s state.State) Step {
	step, _ := Plan(s)
	return step
}

// failedTries: n attempts failed, and the next one is due after that time.
func failedTries(n int32, in time.Duration) statetest.Change {
	return func(s *state.State) {
		s.Status.Succeeded, s.Status.Attempts = false, n
		s.Status.LastAttemptTime = &metav1.Time{Time: statetest.T0.Add(-time.Minute)}
		s.Status.NextTime = &metav1.Time{Time: statetest.T0.Add(in)}
	}
}

func condition(kind, reason string, generation int64) statetest.Change {
	return func(s *state.State) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation,
		})
	}
}

func deleted(s *state.State)      { s.Deleting = true }
func oldFinalizer(s *state.State) { s.OldFinalizer = true }

func TestTheNextStep(t *testing.T) {
	secretMissing := func(s *state.State) { s.SecretProblem = "create Secret aws" }
	running := statetest.Attempt(state.Attempt{Generation: 1, Number: 1})
	ended := statetest.Attempt(state.Attempt{Generation: 1, Number: 1, Result: &state.Result{}})
	oss := func(s *state.State) { s.Spec.StorageType = v1beta2.StorageOSS }

	tests := map[string]struct {
		state state.State
		want  Step
	}{
		"takes the snapshot of a one-shot at once":                 {statetest.One(), TakeSnapshot{Number: 1}},
		"takes the first snapshot of a series at once":             {statetest.Series(), TakeSnapshot{Number: 1}},
		"takes the snapshot of an EtcdCluster that is available":   {statetest.One(statetest.Of(statetest.Available())), TakeSnapshot{Number: 1}},
		"watches an attempt that runs":                             {statetest.One(running), Watch{}},
		"reports an attempt that ended":                            {statetest.One(ended), Report{}},
		"reports an attempt before it takes another snapshot":      {statetest.Series(statetest.Proven(2*time.Hour), ended), Report{}},
		"a complete one-shot does nothing more":                    {statetest.One(condition("Complete", "Complete", 1)), Finished{Complete: true}},
		"a one-shot whose object existed stays failed":             {statetest.One(condition("Failed", "ObjectExists", 1)), Finished{}},
		"a one-shot with a corrupt snapshot stays failed":          {statetest.One(condition("Failed", "SnapshotCorrupt", 1)), Finished{}},
		"a one-shot that is complete is tried again after an edit": {statetest.One(condition("Complete", "Complete", 1), statetest.Edited), TakeSnapshot{Number: 1}},
		"a one-shot that failed is tried again after an edit":      {statetest.One(condition("Failed", "ObjectExists", 1), statetest.Edited), TakeSnapshot{Number: 1}},
		"a spec that an older operator refused is checked again":   {statetest.One(condition("Failed", "StorageNotSupported", 1)), TakeSnapshot{Number: 1}},
		"a complete one-shot does not need its cluster":            {statetest.One(statetest.Of(nil), condition("Complete", "Complete", 1)), Finished{Complete: true}},
		"waits until the next snapshot of a series is due":         {statetest.Series(statetest.Proven(20 * time.Minute)), Scheduled{At: statetest.T0.Add(40 * time.Minute)}},
		"takes the next snapshot of a series at its exact time":    {statetest.Series(statetest.Proven(time.Hour)), TakeSnapshot{Number: 1}},
		"takes one snapshot for ten missed ones":                   {statetest.Series(statetest.Proven(10 * time.Hour)), TakeSnapshot{Number: 1}},
		"a shorter interval counts from the newest snapshot":       {statetest.Series(statetest.Proven(20*time.Minute), statetest.Every(30*time.Minute), statetest.Edited), Scheduled{At: statetest.T0.Add(10 * time.Minute)}},
		"a series that moved to another folder starts at once": {statetest.Series(statetest.Proven(time.Minute), func(s *state.State) {
			s.Spec.S3 = &v1beta2.S3Source{Path: "bucket/elsewhere"}
		}), TakeSnapshot{Number: 1}},
		"a series does not need its cluster until a snapshot is due":                {statetest.Series(statetest.Proven(time.Minute), statetest.Of(nil)), Scheduled{At: statetest.T0.Add(59 * time.Minute)}},
		"waits after a failed attempt until the next is due":                        {statetest.One(failedTries(2, 7*time.Second)), Backoff{At: statetest.T0.Add(7 * time.Second)}},
		"repeats an attempt when it is due":                                         {statetest.One(failedTries(2, 0)), TakeSnapshot{Number: 3}},
		"repeats a failed snapshot of a series before the next one is due":          {statetest.Series(statetest.Proven(90*time.Minute), failedTries(1, 0)), TakeSnapshot{Number: 2}},
		"repeats an attempt at once after a change of the spec":                     {statetest.One(failedTries(7, 5*time.Minute), statetest.Edited), TakeSnapshot{Number: 1}},
		"an attempt during which the operator stopped counts as failed":             {statetest.One(statetest.Stopped(1, time.Second)), Backoff{At: statetest.T0.Add(4 * time.Second), Interrupted: true}},
		"an attempt of a series during which the operator stopped counts as failed": {statetest.Series(statetest.Proven(2*time.Hour), statetest.Stopped(1, time.Second)), Backoff{At: statetest.T0.Add(4 * time.Second), Interrupted: true}},
		"repeats an attempt during which the operator stopped":                      {statetest.One(statetest.Stopped(1, time.Minute)), TakeSnapshot{Number: 2}},
		"waits for a Secret": {statetest.One(secretMissing), Wait{Reason: "SecretMissing", Message: "The operator cannot take the snapshot: create Secret aws.", Requeue: secretInterval}},
		"refuses an invalid spec before it checks anything else":             {statetest.One(oss, secretMissing), Refuse{Reason: "StorageNotSupported", Message: problemOf(oss)}},
		"stops the attempt of an old spec":                                   {statetest.One(running, statetest.Edited), Cancel{}},
		"drops the result of an old spec":                                    {statetest.One(ended, statetest.Edited), Cancel{}},
		"stops the attempt of a deleted EtcdBackup":                          {statetest.One(running, deleted), Cancel{}},
		"drops the result of a deleted EtcdBackup":                           {statetest.One(ended, deleted), Cancel{}},
		"starts no attempt for a deleted EtcdBackup":                         {statetest.One(deleted), Idle{}},
		"removes the finalizer of coreos/etcd-operator before anything else": {statetest.One(deleted, running, oldFinalizer), RemoveFinalizer{}},
		"waits for an EtcdCluster that does not exist": {statetest.One(statetest.Of(nil)), Wait{
			Reason:  "ClusterNotFound",
			Message: "There is no EtcdCluster etcd in namespace ns. Create it, or correct etcdCluster.name. For an etcd that cluster-operator does not manage, write etcdEndpoints instead.",
		}},
		"waits for an EtcdCluster that serves no clients": {statetest.One(statetest.Of(&state.Cluster{Message: "no quorum"})), Wait{
			Reason: "ClusterNotAvailable", Message: "EtcdCluster etcd does not serve clients, so the operator takes no snapshot yet. no quorum",
		}},
		"waits for an EtcdCluster that has no members yet": {statetest.One(statetest.Of(&state.Cluster{Available: true})), Wait{
			Reason: "ClusterNotAvailable", Message: "The status of EtcdCluster etcd lists no member yet. The operator takes the snapshot when it does.",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func problemOf(c statetest.Change) string { return statetest.One(c).Problem.Message }

// The order of the rules is part of the contract.
func TestTheOrderOfTheRules(t *testing.T) {
	want := []string{
		"oldFinalizerIsSet",    // a user can delete the EtcdBackup, whatever else is wrong
		"backupIsBeingDeleted", // no attempt starts for an EtcdBackup that is being deleted
		"copyIsOutdated",       // copies run beside the attempts
		"copyHasEnded",
		"copyIsDue",
		"specChangedDuringAttempt", // an attempt for another spec is neither shown nor reported
		"attemptHasEnded",          // a result is reported before the next attempt starts
		"attemptIsRunning",         // one attempt runs at a time
		"specIsInvalid",            // every pass checks it again, because a newer operator may accept it
		"finalizerDiffersFromPolicy",
		"timeToLiveIsOver",        // no restore test starts for an EtcdBackup that is to be deleted
		"restoreTestIsDue",        // a one-shot that has ended is still tested
		"oneShotHasEnded",         // a one-shot takes one snapshot
		"pathIsNotAllowed",        // a series says it before its next snapshot is due
		"suspendedSeriesIsPruned", // old snapshots are deleted even if no new one is taken
		"seriesIsSuspended",
		"snapshotIsNotDue",      // until then the state of the source does not matter
		"attemptFailedRecently", // the failure stays in the status until the next attempt is due
		"clusterIsNotAvailable",
		"secretIsMissing",
		"takeSnapshot",
	}
	var got []string
	for _, group := range rules {
		if group.Name == "" || !strings.HasSuffix(group.Purpose, ".") {
			t.Errorf("group %q has the purpose %q", group.Name, group.Purpose)
		}
		for _, r := range group.Rules {
			got = append(got, r.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// everyStep has one step of each type.
var everyStep = []Step{
	Idle{}, RemoveFinalizer{}, Hold{}, Release{}, Purge{Number: 1}, Cancel{}, Report{}, Watch{}, Expire{}, Drill{Number: 1},
	Finished{Complete: true}, Refuse{Reason: "InvalidSpec", Message: "A sentence."}, Suspended{}, Scheduled{At: statetest.T0}, Backoff{At: statetest.T0},
	Wait{Reason: "SecretMissing", Message: "A sentence."}, TakeSnapshot{Number: 1}, Prune{}, Copy{Number: 1}, CancelCopy{}, ReportCopy{},
}

func TestEveryStepIsKnownAndDescribesItself(t *testing.T) {
	if diff := cmp.Diff(planningtest.StepTypes(t, "."), planningtest.TypesOf(everyStep)); diff != "" {
		t.Errorf("everyStep: source -, list +:\n%s", diff)
	}
	r := state.Result{Snapshot: statetest.SnapshotAt("b/k", statetest.T0)}
	for _, state := range []state.State{statetest.One(statetest.Ended(1, r)), statetest.Series(statetest.Ended(1, r)), statetest.One(deleted, statetest.Ended(1, r))} {
		for _, step := range everyStep {
			d := Describe(step, state)
			if d.Reason == "" || !strings.HasSuffix(d.Message, ".") || strings.ToUpper(d.Message[:1]) != d.Message[:1] {
				t.Errorf("%T describes itself as %+v", step, d)
			}
		}
	}
}

func TestThePauseAfterFailedAttemptsDoublesUpToFiveMinutes(t *testing.T) {
	tests := map[string]struct {
		failed int32
		want   time.Duration
	}{
		"5 s after the first failure":         {1, 5 * time.Second},
		"10 s after the second failure":       {2, 10 * time.Second},
		"80 s after the fifth failure":        {5, 80 * time.Second},
		"5 minutes after the seventh failure": {7, 5 * time.Minute},
		"5 minutes after very many failures":  {1 << 30, 5 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := delay(test.failed); got != test.want {
				t.Errorf("delay(%d) = %s, want %s", test.failed, got, test.want)
			}
		})
	}
}

func TestEachStepIsRequeuedWhenItIsDue(t *testing.T) {
	tests := map[string]struct {
		step Step
		want time.Duration
	}{
		"requeues when the next attempt is due":                                 {Backoff{At: statetest.T0.Add(7 * time.Second)}, 7 * time.Second},
		"requeues when the next snapshot is due":                                {Scheduled{At: statetest.T0.Add(time.Hour)}, time.Hour},
		"requeues at once if the snapshot is due already":                       {Scheduled{At: statetest.T0.Add(-time.Second)}, AtOnce},
		"requeues when a wait has lasted for so long that a person must look":   {Wait{Reason: "ClusterNotFound"}, planning.StalledAfter},
		"does not requeue for an EtcdCluster that hibernates, which is watched": {Wait{Reason: "ClusterNotAvailable", Patient: true}, 0},
		"requeues while a Secret is missing":                                    {Wait{Reason: "SecretMissing", Requeue: secretInterval}, secretInterval},
		"does not requeue a finished one-shot":                                  {Finished{Complete: true}, 0},
		"does not requeue a refused one-shot":                                   {Refuse{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Describe(test.step, statetest.One()).Requeue; got != test.want {
				t.Errorf("requeue after %s, want %s", got, test.want)
			}
		})
	}
}

// The docs promise that a deletion takes 10 minutes at most. Without this, an EtcdBackup and its namespace cannot be deleted
// while the deletions of others are slow.
func TestADeletionWhosePurgeIsQueuedEndsToo(t *testing.T) {
	s := statetest.Series(statetest.Deletes, held, deleted)
	s.DeletedAt, s.DeletingFor = statetest.T0.Add(-3*time.Hour), 3*time.Hour
	s.Attempt = &state.Attempt{Kind: state.KindPurge, Generation: 1, Number: 1, StartedAt: s.DeletedAt, Queued: true}
	if step, _ := Plan(s); step == (Watch{}) {
		t.Error("the EtcdBackup has waited for a free worker for 3 hours, and is not released")
	}
}

// An attempt failed while the clock of the node was ten days ahead. Without this, there is no snapshot for ten days.
func TestAClockThatWasAheadDelaysNoAttemptForDays(t *testing.T) {
	for name, s := range map[string]state.State{
		"the attempt has failed":   statetest.Series(statetest.Proven(2*time.Hour), failedTries(3, 240*time.Hour)),
		"the operator was stopped": statetest.Series(statetest.Proven(2*time.Hour), statetest.Stopped(3, -240*time.Hour)),
	} {
		if step, _ := Plan(s); step != (TakeSnapshot{Number: 4}) {
			t.Errorf("%s: %#v", name, step)
		}
	}
}
