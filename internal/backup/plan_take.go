package backup

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

type (
	// Refuse reports a spec that can never work, or that the values of the chart do not allow. A person must change that. Again is when to look
	// again; 0 waits for a change of the spec.
	Refuse struct {
		Reason, Message string
		Again           time.Duration
	}
	// Suspended starts no attempt, because the spec suspends the series.
	// Old snapshots are deleted at Prune. A zero time never comes.
	Suspended struct{ Prune time.Time }
	// Scheduled waits until the next snapshot of the series is due (At), or a restore test (Drill). A zero time never
	// comes.
	Scheduled struct{ At, Drill time.Time }
	// Backoff waits until the attempt after a failed one is due. Interrupted is true if the operator was stopped during
	// the failed attempt and does not know its result.
	// Until is when the operator gives up. A zero time never comes.
	Backoff struct {
		At, Until   time.Time
		Interrupted bool
	}
	// Wait waits for something that the operator does not do itself. Requeue is when to look again. 0 leaves it to
	// watches.
	Wait struct {
		Reason, Message string
		Requeue         time.Duration
		// Patient is true if it ends without a person, or if the user wants it. All others are Stalled after planning.StalledAfter.
		Patient bool
	}
	// TakeSnapshot starts an attempt.
	// Base is why the archiver needs it, and is empty otherwise.
	TakeSnapshot struct {
		Number int32
		Base   string
	}
)

func (r Refuse) describe(State) planning.Description {
	return planning.Description{
		Reason: r.Reason, Message: r.Message, Requeue: r.Again,
		Events: []planning.Event{newEvent(corev1.EventTypeWarning, r.Reason, actionValidate, r.Message)},
	}
}

func (w Suspended) describe(s State) planning.Description {
	return planning.Description{
		Requeue: sleep(s.Now, w.Prune),
		Reason:  v1beta2.ReasonSuspended,
		Message: "The operator takes no snapshots, because backupPolicy.suspend is true. Set it to false to continue.",
	}
}

func (w Scheduled) describe(s State) planning.Description {
	d := scheduled(w.At, "")
	d.Requeue = sleep(s.Now, w.At, w.Drill)
	return d
}

// scheduled describes a series whose next snapshot is due at that time. problem is why old snapshots were not deleted,
// and is empty if they were.
func scheduled(at time.Time, problem string) planning.Description {
	message := "The next snapshot is due at " + stamp(at) + "."
	if problem != "" {
		message += planning.Sentence(" Old snapshots were not deleted: ", problem)
	}
	return planning.Description{Reason: v1beta2.ReasonScheduled, Message: message}
}

func (b Backoff) describe(s State) planning.Description {
	message := "The next attempt is due at " + stamp(b.At) + "."
	if b.Interrupted {
		message = fmt.Sprintf("The operator was stopped during attempt %d. %s", s.Status.Attempts, message)
	}
	return planning.Description{Reason: v1beta2.ReasonRetrying, Message: message, Requeue: sleep(s.Now, b.At, b.Until)}
}

func (w Wait) describe(s State) planning.Description {
	requeue := w.Requeue
	if left := planning.NotReadyLeft(s.Status.Conditions, s.Now); left > 0 && !w.Patient && (requeue == 0 || left < requeue) {
		requeue = left
	}
	return planning.Description{Reason: w.Reason, Message: w.Message, Requeue: requeue}
}

func (t TakeSnapshot) describe(State) planning.Description {
	message := Progress{}.String()
	if t.Base != "" {
		message = planning.Sentence(message+" The continuous archive needs a snapshot: ", t.Base)
	}
	return planning.Description{Reason: v1beta2.ReasonRunning, Message: message, Requeue: progressInterval}
}

func specIsInvalid(s State) Step {
	if s.Problem == nil {
		return nil
	}
	return Refuse{Reason: s.Problem.Reason, Message: s.Problem.Message}
}

func seriesIsSuspended(s State) Step {
	if !s.suspended() {
		return nil
	}
	return Suspended{Prune: s.pruneTurn()}
}

// snapshotIsNotDue comes before the rules about the cluster, which does not matter until then.
func snapshotIsNotDue(s State) Step {
	if !s.Series() || s.retrying() {
		return nil
	}
	at := s.turn()
	if !s.Now.Before(at) {
		return nil
	}
	return Scheduled{At: at, Drill: s.testTurn()}
}

// attemptFailedRecently waits after a failed attempt. An attempt without a result counts as failed when it started, so
// that an operator that crashes during a snapshot does not repeat it without a pause. A time that is later than the longest
// pause comes from a clock that was ahead, and does not count.
func attemptFailedRecently(s State) Step {
	if !s.retrying() || s.neverRan() {
		return nil
	}
	next := Backoff{}
	switch {
	case s.Status.NextTime != nil:
		next.At = s.Status.NextTime.Time
	case s.Status.LastAttemptTime != nil:
		next.At, next.Interrupted = s.Status.LastAttemptTime.Add(s.pause(s.Status.Attempts)), true
	}
	if clock.Due(next.At, s.longestPause(), s.Now) {
		return nil
	}
	return next
}

// clusterIsNotAvailable needs no requeue, because the operator watches the cluster.
func clusterIsNotAvailable(s State) Step {
	if s.Spec.EtcdCluster == nil {
		return nil
	}
	name := s.Spec.EtcdCluster.Name
	switch {
	case s.Cluster == nil:
		return Wait{Reason: v1beta2.ReasonClusterNotFound, Message: fmt.Sprintf(
			"There is no EtcdCluster %s in namespace %s. Create it, or correct etcdCluster.name. For an etcd that cluster-operator does not manage, write etcdEndpoints instead.",
			name, s.Namespace)}
	case !s.Cluster.Available && s.Spec.NoQuorum != v1beta2.NoQuorumMark:
		return Wait{Reason: v1beta2.ReasonClusterNotAvailable, Message: fmt.Sprintf(
			"EtcdCluster %s does not serve clients, so the operator takes no snapshot yet. %s", name, s.Cluster.Message), Patient: s.Cluster.Hibernated}
	case len(s.Cluster.ClientURLs) == 0:
		return Wait{Reason: v1beta2.ReasonClusterNotAvailable, Message: fmt.Sprintf(
			"The status of EtcdCluster %s lists no member yet. The operator takes the snapshot when it does.", name)}
	}
	return nil
}

func secretIsMissing(s State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{
		Reason:  v1beta2.ReasonSecretMissing,
		Message: planning.Sentence("The operator cannot take the snapshot: ", s.SecretProblem),
		Requeue: secretInterval,
	}
}

func takeSnapshot(s State) Step {
	step := TakeSnapshot{Number: s.nextNumber()}
	if s.baseWanted() && !s.requested() {
		step.Base = s.Archive.Want
	}
	return step
}

// nextNumber is the number of the next attempt. It starts again at 1 after a success or a change of the spec.
func (s State) nextNumber() int32 {
	if s.neverRan() {
		return s.Status.Attempts
	}
	if s.retrying() {
		return s.Status.Attempts + 1
	}
	return 1
}

const (
	firstDelay = 5 * time.Second
	lastDelay  = 5 * time.Minute
	// lastDeletionDelay is the longest pause while the EtcdBackup is being deleted.
	lastDeletionDelay = time.Minute

	lastTestDelay = 6 * time.Hour
)

// testDelay is the pause after that many restore tests that could not be carried out: 1 min, doubled after each one, at most
// 6 h. A restore test reads the whole snapshot, so it is repeated less often than a snapshot.
func testDelay(failed int32) time.Duration {
	d := time.Minute
	for ; failed > 1 && d < lastTestDelay; failed-- {
		d *= 2
	}
	return min(d, lastTestDelay)
}

// longestPause is the longest pause after a failed attempt.
func (s State) longestPause() time.Duration {
	if s.Spec.Verify == v1beta2.VerifyRestore {
		return lastTestDelay
	}
	if slices.ContainsFunc(s.Status.Conditions, func(c metav1.Condition) bool { return problem.Lasts(c.Reason) }) {
		return problem.LongestPause
	}
	return lastDelay
}

// retryAt returns when the attempt after a failed one is due. If the snapshot is in the store and only its restore test could
// not be carried out, the operator repeats the test less often, because each test reads the whole snapshot. It still takes
// the next snapshot of a series in time.
func (s State) retryAt(a Attempt) time.Time {
	at := a.Result.EndedAt.Add(s.pauseAfter(a))
	if !a.Result.untested() {
		return at
	}
	later := a.Result.EndedAt.Add(testDelay(a.Number))
	if r, err := rhythm(s.Spec); err == nil && s.Series() {
		taken := a.Result.Untested
		if taken.IsZero() {
			taken = a.StartedAt
		}
		if next := spread(r, r.Next(taken), s.UID, s.jitter()); !next.IsZero() && next.Before(later) {
			later = next
		}
	}
	if later.Before(at) {
		return at
	}
	return later
}

// untested returns whether the attempt failed only because the restore test could not be carried out.
func (r Result) untested() bool {
	return !r.Untested.IsZero() || r.Failure != nil && r.Failure.Reason == v1beta2.ReasonRestoreTestTooLarge
}

// pause returns the pause after that many failed attempts. The deletion of an EtcdBackup has a time limit, so its attempts
// are repeated more often: a pause of 5 minutes after an operator was killed would use up the rest of it.
func (s State) pause(failed int32) time.Duration {
	if s.Deleting {
		return min(delay(failed), lastDeletionDelay)
	}
	return delay(failed)
}

// pauseAfter returns the pause after a failed attempt. If its cause lasts, the operator tries less often.
func (s State) pauseAfter(a Attempt) time.Duration {
	if f := a.Result.Failure; f != nil && !s.Deleting && problem.Lasts(f.Reason) {
		return delayUpTo(a.Number, problem.LongestPause)
	}
	return s.pause(a.Number)
}

// delay returns the pause after that many failed attempts: 5 s, doubled after each one, at most 5 min.
func delay(failed int32) time.Duration { return delayUpTo(failed, lastDelay) }

func delayUpTo(failed int32, longest time.Duration) time.Duration {
	d := firstDelay
	for ; failed > 1 && d < longest; failed-- {
		d *= 2
	}
	return min(d, longest)
}
