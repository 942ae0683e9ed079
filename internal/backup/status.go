package backup

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// NewStatus returns the status after the step. err is the error of the step's effect. What the step does not concern
// is kept. NewStatus is pure.
func NewStatus(s State, step Step, err error) v1beta2.EtcdBackupStatus {
	r := reporter{s: s, out: *s.Status.DeepCopy()}
	if s.fresh() {
		r.out.Attempts, r.out.NextTime = 0, nil
	}
	if s.neverRan() {
		r.out.Attempts--
	}
	r.out.ObservedGeneration, r.out.Progress = s.Generation, nil
	switch refused := refusal(""); {
	case errors.As(err, &refused):
		r.ready(metav1.ConditionFalse, v1beta2.ReasonObjectRefused, refused.Error())
		r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonObjectRefused, refused.Error())
	case err != nil:
		r.ready(metav1.ConditionFalse, v1beta2.ReasonRetrying, err.Error())
	default:
		r.apply(step, step.describe(s))
	}
	r.nameStore()
	r.secondLocation()
	r.archive()
	r.failTestedSnapshot()
	r.failDisprovenArchive()
	r.fill()
	r.out.SnapshotSize = sizeText(r.out.Snapshot)
	return r.out
}

// nameStore completes a status of an earlier version. If the spec has changed since then, it is not known which store has the snapshot.
func (r *reporter) nameStore() {
	if r.out.Snapshot != nil && r.out.SnapshotStore == "" && !r.s.fresh() && r.s.Problem == nil {
		r.out.SnapshotStore = r.s.Target.Store()
	}
}

// refusal says that the API server refuses an object for good. A person must correct what refuses it.
type refusal string

func (r refusal) Error() string { return string(r) }

// reporter writes one status.
type reporter struct {
	s   State
	out v1beta2.EtcdBackupStatus
}

func (r *reporter) apply(step Step, d planning.Description) {
	switch step := step.(type) {
	case Idle, RemoveFinalizer, Hold, Release, Expire: // they change metadata only
	case Cancel:
		r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, d.Message)
	case Refuse:
		r.failed(Failure{Reason: d.Reason, Message: d.Message})
	case Wait:
		r.pending(d)
		r.stalledIf(!step.Patient && planning.NotReadyLeft(r.s.Status.Conditions, r.s.Now) == 0, d.Reason, d.Message)
	case Backoff:
		r.backoff(step, d)
	case Scheduled:
		r.interruptedTest(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.scheduled(step.At, "", d)
	case Finished:
		r.interruptedTest(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.finished(step, d)
	case Suspended:
		r.suspended(d)
	case Copy:
		r.copyStarts(step.Number)
	case CancelCopy:
	case ReportCopy:
		r.copyEnded(*r.s.Copy, d)
	case Prune:
		r.pruning(r.s.Now, d)
	case Purge:
		r.purging(step.Number, r.s.Now, d)
	case Drill:
		// Until its end is reported, the test counts as one that could not be carried out.
		r.out.DrillAttempts, r.out.NextDrillTime = step.Number, second(r.s.Now.Add(testDelay(step.Number)))
		r.testing(Progress{}, d)
	case TakeSnapshot:
		p := Progress{Stage: "starting"}
		if r.s.Full {
			p.Stage = "" // it is queued
		}
		r.running(step.Number, r.s.Now, p, d)
	case Watch:
		r.watch(*r.s.Attempt, d)
	case Report:
		r.ended(*r.s.Attempt, d)
	}
}

// running keeps what was reported about the attempt before, until this one has ended.
func (r *reporter) running(number int32, began time.Time, p Progress, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, second(began), nil
	r.progress(p)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "")
	if number == 1 {
		r.notFailed(d.Reason)
	}
	before := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionReady)
	switch {
	case before != nil && r.s.Series() && before.Status == metav1.ConditionTrue:
		r.ready(before.Status, before.Reason, before.Message)
	case before == nil || number == 1:
		r.ready(metav1.ConditionFalse, d.Reason, "The operator is taking the snapshot.")
	}
}

// taken reports how an attempt to take a snapshot ended.
func (r *reporter) taken(a Attempt, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, second(a.StartedAt), nil
	r.pruned(*a.Result)
	r.tested(a.Result.Drill)
	if a.Result.Failure != nil {
		r.unsuccessful(a, d)
		return
	}
	recordSuccess(&r.out, a, r.s)
	if r.s.Series() {
		r.out.Attempts = 0
		state := r.s
		state.Status = r.out
		r.scheduled(state.turn(), a.Result.PruneProblem, d)
		return
	}
	r.set(v1beta2.ConditionComplete, metav1.ConditionTrue, d.Reason, d.Message)
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionTrue, d.Reason, d.Message)
}

// recordSuccess writes the facts of a successful attempt into the status.
func recordSuccess(out *v1beta2.EtcdBackupStatus, a Attempt, s State) {
	snapshot, kept := *a.Result.Snapshot, a.Result.Kept
	if s.Series() && s.Target.IsStoreOf(s.Status) {
		snapshot, kept = asRecorded(*out, snapshot), allAsRecorded(*out, kept)
	}
	out.Snapshots, out.SnapshotStore = kept, s.Target.Store()
	if a.Request != "" && a.Base == "" {
		out.HandledRequest = a.Request
	}
	out.Succeeded, out.Reason = true, ""
	out.Snapshot, out.EtcdVersion, out.EtcdRevision = &snapshot, snapshot.EtcdVersion, snapshot.Revision
	out.LastSuccessDate = second(a.Result.EndedAt)
	if at, err := time.Parse(time.RFC3339, snapshot.CreatedAt); err == nil && a.Result.Found {
		out.LastSuccessDate = second(at)
	}
}

func (r *reporter) unsuccessful(a Attempt, d planning.Description) {
	f := *a.Result.Failure
	if r.s.ends(f) {
		r.failed(f)
		return
	}
	r.out.NextTime = second(r.s.retryAt(a))
	r.unsucceeded(f)
	r.pending(d)
	r.stalledIf(needsPerson(f.Reason, a.Number), f.Reason, d.Message)
}

// needsPerson returns whether an attempt fails until a person acts, as far as is known.
func needsPerson(reason string, number int32) bool {
	return problem.Lasts(reason) || grant.Refused(reason) || number >= planning.StalledAfterFailures
}

// backoff keeps the report about the failed attempt. If the operator was stopped during it, there is no report yet.
func (r *reporter) backoff(step Backoff, d planning.Description) {
	if !step.Interrupted {
		return
	}
	r.out.NextTime = second(step.At)
	r.unsucceeded(Failure{Reason: d.Reason, Message: d.Message})
	r.pending(d)
	r.stalledIf(needsPerson(d.Reason, r.out.Attempts), d.Reason, d.Message)
}

// scheduled reports a series that waits for its next snapshot. It keeps an earlier report about the same time, which
// may mention a problem as well.
func (r *reporter) scheduled(at time.Time, problem string, d planning.Description) {
	next := second(at)
	if next.Equal(r.out.NextTime) && problem == "" && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		return
	}
	r.out.NextTime = next
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "A series is never complete.")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionTrue, d.Reason, d.Message)
}

// pending reports something that is not there yet and for which the operator waits or tries again.
func (r *reporter) pending(d planning.Description) {
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionFalse, d.Reason, d.Message)
}

// failed reports a failure that lasts until a user acts.
func (r *reporter) failed(f Failure) {
	r.unsucceeded(f)
	r.out.NextTime = nil
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionFailed, metav1.ConditionTrue, f.Reason, f.Message)
	r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, f.Reason, f.Message)
	r.ready(metav1.ConditionFalse, f.Reason, f.Message)
}

// stalledIf reports that a person must act, although the operator tries or looks again.
func (r *reporter) stalledIf(is bool, reason, message string) {
	if is {
		r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, reason, message)
	}
}

func (r *reporter) unsucceeded(f Failure) {
	r.out.Succeeded, r.out.Reason = false, clip(f.Reason+": "+f.Message)
}

// notFailed reports that no user needs to act.
func (r *reporter) notFailed(reason string) {
	r.set(v1beta2.ConditionFailed, metav1.ConditionFalse, reason, "")
	r.set(v1beta2.ConditionStalled, metav1.ConditionFalse, reason, "")
}

// fill sets every condition that is not set yet, so that all of them exist from the first pass on.
func (r *reporter) fill() {
	for _, kind := range []string{
		v1beta2.ConditionReady, v1beta2.ConditionComplete, v1beta2.ConditionFailed, v1beta2.ConditionRunning, v1beta2.ConditionStalled,
	} {
		if meta.FindStatusCondition(r.out.Conditions, kind) == nil {
			r.set(kind, metav1.ConditionFalse, v1beta2.ReasonPending, "")
		}
	}
}

func (r *reporter) ready(status metav1.ConditionStatus, reason, message string) {
	r.set(v1beta2.ConditionReady, status, reason, message)
}

func (r *reporter) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.out.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: clip(message),
		ObservedGeneration: r.s.Generation, LastTransitionTime: *second(r.s.Now),
	})
}

// String describes the progress in one sentence.
func (p Progress) String() string {
	const mib = 1 << 20
	switch {
	case p.Stage == "" && p.Why != turns.None:
		return fmt.Sprintf("The attempt is queued for a worker of the operator: %s.", p.Why)
	case p.Stage == "":
		return "The attempt is queued. It starts when a worker of the operator is free."
	case p.Why != turns.None:
		return fmt.Sprintf("The operator is %s: %s.", p.Stage, p.Why)
	case p.Bytes == 0:
		return fmt.Sprintf("The operator is %s.", p.Stage)
	case p.About == 0:
		return fmt.Sprintf("The operator is %s: %.1f MiB.", p.Stage, float64(p.Bytes)/mib)
	}
	return fmt.Sprintf("The operator is %s: %.1f MiB of about %.1f MiB.", p.Stage, float64(p.Bytes)/mib, float64(p.About)/mib)
}

// second returns a time with the precision of the API, so that it equals what is read back.
func second(t time.Time) *metav1.Time { return &metav1.Time{Time: t.Truncate(time.Second)} }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maxMessage limits the length of a message, because it may contain the answer of a server.
const maxMessage = 1500

func clip(message string) string { return planning.Shorten(message, maxMessage) }
