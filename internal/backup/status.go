package backup

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// NewStatus is the status after a step; err is why the step's effect did not come about. It is pure: what a step
// says nothing about stays as it was.
func NewStatus(s State, step Step, err error) v1beta2.EtcdBackupStatus {
	r := reporter{s: s, out: *s.Status.DeepCopy()}
	if s.fresh() {
		r.out.Attempts, r.out.NextTime = 0, nil
	}
	r.out.ObservedGeneration, r.out.Progress = s.Generation, nil
	if err != nil {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonRetrying, err.Error())
	} else {
		r.apply(step)
	}
	r.distrust()
	r.fill()
	return r.out
}

// reporter writes one status.
type reporter struct {
	s   State
	out v1beta2.EtcdBackupStatus
}

func (r *reporter) apply(step Step) {
	switch step := step.(type) {
	case Cancel:
		r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonPending, "the attempt was ended, since its spec no longer holds")
	case Refuse:
		r.failed(Failure{Reason: step.Why, Message: step.Message})
	case Wait:
		r.pending(step.Why, step.Message)
	case Backoff:
		r.backoff(step)
	case Scheduled:
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.scheduled(step.At, "")
	case Finished:
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.finished(step)
	case Suspended:
		r.suspended()
	case Purge:
		r.purging(step.Number, r.s.Now)
	case Drill:
		r.drilling(Progress{})
	case TakeSnapshot:
		r.running(step.Number, r.s.Now, Progress{})
	case Watch:
		r.watch(*r.s.Attempt)
	case Report:
		r.ended(*r.s.Attempt)
	}
}

// running: what was reported of the attempt before stays until this one has ended.
func (r *reporter) running(number int32, began time.Time, p Progress) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, second(began), nil
	r.progress(p)
	message := p.String()
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, v1beta2.ReasonRunning, message)
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, v1beta2.ReasonRunning, "")
	r.calm(v1beta2.ReasonRunning)
	before := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionReady)
	switch {
	case before != nil && r.s.Series() && before.Status == metav1.ConditionTrue:
		r.ready(before.Status, before.Reason, before.Message)
	case before == nil || number == 1:
		r.ready(metav1.ConditionFalse, v1beta2.ReasonRunning, "the snapshot is being taken")
	}
}

// report says how an attempt ended.
func (r *reporter) report(a Attempt) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, second(a.StartedAt), nil
	r.pruned(*a.Result)
	r.drilled(a.Result.Drill)
	if a.Result.Failure != nil {
		r.unsuccessful(a, *a.Result.Failure)
		return
	}
	snapshot := *a.Result.Snapshot
	r.out.Snapshots = a.Result.Kept
	if a.Request != "" {
		r.out.HandledRequest = a.Request
	}
	r.out.Succeeded, r.out.Reason = true, ""
	r.out.Snapshot, r.out.EtcdVersion, r.out.EtcdRevision = &snapshot, snapshot.EtcdVersion, snapshot.Revision
	r.out.LastSuccessDate = second(a.Result.EndedAt)
	if at, err := time.Parse(time.RFC3339, snapshot.CreatedAt); err == nil && a.Result.Found {
		r.out.LastSuccessDate = second(at)
	}
	if r.s.Series() {
		r.out.Attempts = 0
		state := r.s
		state.Status = r.out
		r.scheduled(state.turn(), a.Result.PruneProblem)
		return
	}
	r.set(v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete, describe(snapshot))
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonComplete, "")
	r.calm(v1beta2.ReasonComplete)
	r.ready(metav1.ConditionTrue, v1beta2.ReasonComplete, describe(snapshot))
}

func (r *reporter) unsuccessful(a Attempt, f Failure) {
	if terminal(f.Reason) && !r.s.Series() {
		r.failed(f)
		return
	}
	next := second(a.Result.EndedAt.Add(delay(a.Number)))
	r.out.NextTime = next
	r.unsucceeded(f)
	r.pending(f.Reason, fmt.Sprintf("%s (attempt %d; the next is due at %s)", f.Message, a.Number, stamp(next.Time)))
}

// backoff leaves what was said of the failed attempt, unless nobody saw its end.
func (r *reporter) backoff(step Backoff) {
	if !step.Interrupted {
		return
	}
	r.out.NextTime = second(step.At)
	message := fmt.Sprintf("the operator was stopped during attempt %d; the next is due at %s", r.out.Attempts, stamp(step.At))
	r.unsucceeded(Failure{Reason: v1beta2.ReasonRetrying, Message: message})
	r.pending(v1beta2.ReasonRetrying, message)
}

// scheduled: the series is as it should be until its next snapshot is due.
func (r *reporter) scheduled(at time.Time, problem string) {
	next := second(at)
	if next.Equal(r.out.NextTime) && problem == "" && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		return // said before, perhaps together with a problem
	}
	r.out.NextTime = next
	message := "the next snapshot is due at " + stamp(at)
	if problem != "" {
		message += "; old snapshots were not removed: " + problem
	}
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, v1beta2.ReasonScheduled, "a series has no end")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonScheduled, "")
	r.calm(v1beta2.ReasonScheduled)
	r.ready(metav1.ConditionTrue, v1beta2.ReasonScheduled, message)
}

// pending: not there yet, and the operator goes on by itself.
func (r *reporter) pending(reason, message string) {
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, reason, "")
	r.calm(reason)
	r.ready(metav1.ConditionFalse, reason, message)
}

// failed: over without success until a person acts.
func (r *reporter) failed(f Failure) {
	r.unsucceeded(f)
	r.out.NextTime = nil
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionFailed, metav1.ConditionTrue, f.Reason, f.Message)
	r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, f.Reason, f.Message)
	r.ready(metav1.ConditionFalse, f.Reason, f.Message)
}

func (r *reporter) unsucceeded(f Failure) {
	r.out.Succeeded, r.out.Reason = false, clip(f.Reason+": "+f.Message)
}

// calm: nothing that a person would have to act on.
func (r *reporter) calm(reason string) {
	r.set(v1beta2.ConditionFailed, metav1.ConditionFalse, reason, "")
	r.set(v1beta2.ConditionStalled, metav1.ConditionFalse, reason, "")
}

// fill gives a value to every condition that has none, so that all are there from the first pass on.
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

// String is progress in words.
func (p Progress) String() string {
	const mib = 1 << 20
	switch {
	case p.Stage == "":
		return "waiting for its turn"
	case p.Bytes == 0:
		return p.Stage
	case p.About == 0:
		return fmt.Sprintf("%s: %.1f MiB", p.Stage, float64(p.Bytes)/mib)
	}
	return fmt.Sprintf("%s: %.1f MiB of about %.1f MiB", p.Stage, float64(p.Bytes)/mib, float64(p.About)/mib)
}

func describe(s v1beta2.Snapshot) string {
	return fmt.Sprintf("snapshot %s holds revision %d: %d keys, %d bytes", s.Path, s.Revision, s.Keys, s.Size)
}

// second is a time as the API stores it: what is read back equals what was written.
func second(t time.Time) *metav1.Time { return &metav1.Time{Time: t.Truncate(time.Second)} }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clip keeps a server's long answer from filling the status.
func clip(message string) string { return clipTo(message, 1500) }

func clipTo(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit], "") + "..."
}
