package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
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

func (r Refuse) describe(state.State) planning.Description {
	return planning.Description{
		Reason: r.Reason, Message: r.Message, Requeue: r.Again,
		Events: []planning.Event{NewEvent(corev1.EventTypeWarning, r.Reason, actionValidate, r.Message)},
	}
}

func (w Suspended) describe(s state.State) planning.Description {
	return planning.Description{
		Requeue: sleep(s.Now, w.Prune),
		Reason:  v1beta2.ReasonSuspended,
		Message: "The operator takes no snapshots, because backupPolicy.suspend is true. Set it to false to continue.",
	}
}

func (w Scheduled) describe(s state.State) planning.Description {
	d := scheduled(w.At, "")
	d.Requeue = sleep(s.Now, w.At, w.Drill)
	return d
}

func (b Backoff) describe(s state.State) planning.Description {
	message := "The next attempt is due at " + state.Stamp(b.At) + "."
	if b.Interrupted {
		message = fmt.Sprintf("The operator was stopped during attempt %d. %s", s.Status.Attempts, message)
	}
	return planning.Description{Reason: v1beta2.ReasonRetrying, Message: message, Requeue: sleep(s.Now, b.At, b.Until)}
}

func (w Wait) describe(s state.State) planning.Description {
	requeue := w.Requeue
	if left := planning.NotReadyLeft(s.Status.Conditions, s.Now); left > 0 && !w.Patient && (requeue == 0 || left < requeue) {
		requeue = left
	}
	return planning.Description{Reason: w.Reason, Message: w.Message, Requeue: requeue}
}

func (t TakeSnapshot) describe(state.State) planning.Description {
	message := state.Progress{}.String()
	if t.Base != "" {
		message = planning.Sentence(message+" The continuous archive needs a snapshot: ", t.Base)
	}
	return planning.Description{Reason: v1beta2.ReasonRunning, Message: message, Requeue: progressInterval}
}

func specIsInvalid(s state.State) Step {
	if s.Problem == nil {
		return nil
	}
	return Refuse{Reason: s.Problem.Reason, Message: s.Problem.Message}
}

func seriesIsSuspended(s state.State) Step {
	if !s.Suspended() {
		return nil
	}
	return Suspended{Prune: pruneTurn(s)}
}

// snapshotIsNotDue comes before the rules about the cluster, which does not matter until then.
func snapshotIsNotDue(s state.State) Step {
	if !s.Series() || s.Retrying() {
		return nil
	}
	at := SnapshotTurn(s)
	if !s.Now.Before(at) {
		return nil
	}
	return Scheduled{At: at, Drill: TestTurn(s)}
}

// attemptFailedRecently waits after a failed attempt. An attempt without a result counts as failed when it started, so
// that an operator that crashes during a snapshot does not repeat it without a pause. A time that is later than the longest
// pause comes from a clock that was ahead, and does not count.
func attemptFailedRecently(s state.State) Step {
	if !s.Retrying() || s.NeverRan() {
		return nil
	}
	next := Backoff{}
	switch {
	case s.Status.NextTime != nil:
		next.At = s.Status.NextTime.Time
	case s.Status.LastAttemptTime != nil:
		next.At, next.Interrupted = s.Status.LastAttemptTime.Add(PauseAfterFailures(s, s.Status.Attempts)), true
	}
	if clock.Due(next.At, longestPause(s), s.Now) {
		return nil
	}
	return next
}

// clusterIsNotAvailable needs no requeue, because the operator watches the cluster.
func clusterIsNotAvailable(s state.State) Step {
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

func secretIsMissing(s state.State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{
		Reason:  v1beta2.ReasonSecretMissing,
		Message: planning.Sentence("The operator cannot take the snapshot: ", s.SecretProblem),
		Requeue: secretInterval,
	}
}

func takeSnapshot(s state.State) Step {
	step := TakeSnapshot{Number: nextNumber(s)}
	if s.BaseWanted() && !s.Requested() {
		step.Base = s.Archive.Want
	}
	return step
}

// nextNumber is the number of the next attempt. It starts again at 1 after a success or a change of the spec.
func nextNumber(s state.State) int32 {
	if s.NeverRan() {
		return s.Status.Attempts
	}
	if s.Retrying() {
		return s.Status.Attempts + 1
	}
	return 1
}
