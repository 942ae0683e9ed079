package backup

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// rule looks at a State and says one Step, or nil when it has nothing to say.
type rule func(State) Step

// namedRule carries its name for TestPlanOrder and for logs.
type namedRule struct {
	name string
	say  rule
}

// rules are asked in order; the first that says something wins.
var rules = []namedRule{
	{"removeFinalizer", removeFinalizer},
	{"deleting", deleting},
	{"supersede", supersede},
	{"report", report},
	{"watch", watch},
	{"refuse", refuse},
	{"hold", hold},
	{"expire", expire},
	{"drill", drill},
	{"finished", finished},
	{"suspend", suspend},
	{"awaitSchedule", awaitSchedule},
	{"backoff", backoff},
	{"awaitCluster", awaitCluster},
	{"awaitSecret", awaitSecret},
	{"takeSnapshot", takeSnapshot},
}

// Plan is the next step. It is pure: the same State gives the same Step.
func Plan(s State) Step {
	for _, r := range rules {
		if step := r.say(s); step != nil {
			return step
		}
	}
	return Idle{}
}

// removeFinalizer: an EtcdBackup that coreos/etcd-operator left behind could otherwise never be deleted.
func removeFinalizer(s State) Step {
	if !s.OldFinalizer {
		return nil
	}
	return RemoveFinalizer{}
}

// supersede: what an old spec asked for is of no interest, not even its result. A snapshot that the old attempt
// had completed is found in the store by the next one.
func supersede(s State) Step {
	if s.Attempt == nil || s.Attempt.Generation == s.Generation {
		return nil
	}
	return Cancel{}
}

func report(s State) Step {
	if s.Attempt == nil || s.Attempt.Result == nil {
		return nil
	}
	return Report{}
}

func watch(s State) Step {
	if s.Attempt == nil {
		return nil
	}
	return Watch{}
}

func refuse(s State) Step {
	if s.Problem == nil {
		return nil
	}
	return Refuse{Why: s.Problem.Reason, Message: s.Problem.Message}
}

// finished: a one-shot ends once.
func finished(s State) Step {
	ended := s.ended()
	if ended == "" {
		return nil
	}
	return Finished{Complete: ended == v1beta2.ConditionComplete, Drill: s.drillTurn(), Until: s.expiry()}
}

// drill: the newest snapshot is tried out when that is due and nothing more urgent is.
func drill(s State) Step {
	at := s.drillTurn()
	if at.IsZero() || s.Now.Before(at) || s.retrying() || s.suspended() {
		return nil
	}
	if s.Series() && !s.Now.Before(s.turn()) || !s.Series() && s.ended() != v1beta2.ConditionComplete {
		return nil
	}
	number := int32(1)
	if !s.fresh() {
		number = s.Status.DrillAttempts + 1
	}
	return Drill{Number: number, Path: s.Status.Snapshot.Path}
}

// suspend: nothing is begun, not even again.
func suspend(s State) Step {
	if !s.suspended() {
		return nil
	}
	return Suspended{}
}

// awaitSchedule: until the next snapshot is due the source's state is of no interest.
func awaitSchedule(s State) Step {
	if !s.Series() || s.retrying() {
		return nil
	}
	at := s.turn()
	if !s.Now.Before(at) {
		return nil
	}
	return Scheduled{At: at, Drill: s.drillTurn()}
}

// backoff: an attempt whose end nobody saw counts as failed when it began, so that an operator which dies of a
// snapshot does not die of it in a tight loop.
func backoff(s State) Step {
	if !s.retrying() {
		return nil
	}
	next := Backoff{}
	switch {
	case s.Status.NextTime != nil:
		next.At = s.Status.NextTime.Time
	case s.Status.LastAttemptTime != nil:
		next.At, next.Interrupted = s.Status.LastAttemptTime.Add(delay(s.Status.Attempts)), true
	}
	if !s.Now.Before(next.At) {
		return nil
	}
	return next
}

// awaitCluster: a watch tells when the cluster is there.
func awaitCluster(s State) Step {
	if s.Spec.EtcdCluster == nil {
		return nil
	}
	name := s.Spec.EtcdCluster.Name
	switch {
	case s.Cluster == nil:
		return Wait{Why: v1beta2.ReasonClusterNotFound, Message: fmt.Sprintf(
			"there is no EtcdCluster %s in namespace %s: create it, correct etcdCluster.name, or write etcdEndpoints for an etcd that is not managed here", name, s.Namespace)}
	case !s.Cluster.Available && s.Spec.NoQuorum != v1beta2.NoQuorumMark:
		return Wait{Why: v1beta2.ReasonClusterNotAvailable, Message: fmt.Sprintf("EtcdCluster %s does not serve clients: %s", name, s.Cluster.Message)}
	case len(s.Cluster.ClientURLs) == 0:
		return Wait{Why: v1beta2.ReasonClusterNotAvailable, Message: fmt.Sprintf("EtcdCluster %s names no member in its status yet", name)}
	}
	return nil
}

func awaitSecret(s State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{Why: v1beta2.ReasonSecretMissing, Message: s.SecretProblem, Again: secretPeriod}
}

func takeSnapshot(s State) Step {
	if s.retrying() {
		return TakeSnapshot{Number: s.Status.Attempts + 1}
	}
	return TakeSnapshot{Number: 1}
}

const (
	firstDelay = 5 * time.Second
	lastDelay  = 5 * time.Minute
)

// delay before the attempt that follows so many failed ones: 5 s, doubled each time, at most 5 min.
func delay(failed int32) time.Duration {
	d := firstDelay
	for ; failed > 1 && d < lastDelay; failed-- {
		d *= 2
	}
	return min(d, lastDelay)
}
