package restore

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// rule looks at a State and says one Step, or nil when it has nothing to say.
type rule func(State) Step

// namedRule carries its name for TestPlanOrder.
type namedRule struct {
	name string
	say  rule
}

// rules are asked in order; the first that says something wins. Whatever touches a cluster, cluster-operator
// does after verify has let a proof be kept; so every check of the source is in verify, or before it.
var rules = []namedRule{
	{"finished", finished},
	{"verify", verify},
	{"follow", follow},
	{"awaitCluster", awaitCluster},
	{"refuseTooNew", refuseTooNew},
	{"awaitStart", awaitStart},
}

// Plan is the next step. It is pure: the same State gives the same Step.
func Plan(s State) Step {
	for _, r := range rules {
		if step := r.say(s); step != nil {
			return step
		}
	}
	return Done{}
}

// finished: a restore happens once.
func finished(s State) Step {
	if s.finished() || !s.Restore.DeletionTimestamp.IsZero() {
		return Done{}
	}
	return nil
}

// verify reads the source until it is proven, or can never be.
func verify(s State) Step {
	if s.proven() {
		return nil
	}
	source, none := s.source()
	if none != nil {
		return none
	}
	switch s.Proof.Progress {
	case ProofRunning:
		return Verifying{}
	case ProofDone:
		return accept(s)
	case ProofFailed:
		return again(s, source)
	}
	return Verify{Source: source}
}

func accept(s State) Step {
	if fail := s.tooNew(s.Proof.Snapshot.Path, s.Proof.Format); fail != nil {
		return fail
	}
	return Accept{Source: s.Proof.Source, Snapshot: s.Proof.Snapshot}
}

// again tries once more what may pass, each time later. A source that is another one now is tried at once.
func again(s State, source v1beta2.RestoreSource) Step {
	if s.Proof.Source != source {
		return Verify{Source: source}
	}
	if s.Proof.Final {
		return Fail{Reason: s.Proof.Reason, Message: s.Proof.Message}
	}
	next := s.Proof.Ended.Add(backoff(s.Restore.Status.Attempts))
	if !s.Now.Before(next) {
		return Verify{Source: source}
	}
	return Wait{
		Reason:  s.Proof.Reason,
		Message: fmt.Sprintf("%s; the next attempt is at %s", s.Proof.Message, next.UTC().Format(time.RFC3339)),
		Failure: true,
		For:     next.Sub(s.Now),
	}
}

const (
	firstBackoff = 5 * time.Second
	lastBackoff  = 5 * time.Minute
)

// backoff is the pause after so many attempts.
func backoff(attempts int32) time.Duration {
	pause := firstBackoff
	for ; attempts > 1 && pause < lastBackoff; attempts-- {
		pause *= 2
	}
	return min(pause, lastBackoff)
}

// follow reports what the cluster says of this restore.
func follow(s State) Step {
	progress := s.progress()
	if progress == nil {
		return nil
	}
	switch progress.Step {
	case v1beta2.RestoreComplete:
		return Complete{Cluster: *progress}
	case v1beta2.RestoreFailed:
		message := progress.Message
		if message == "" {
			message = "the seed failed; the cluster was not touched"
		}
		return Fail{Reason: v1beta2.ReasonSeedFailed, Message: message}
	}
	return Follow{Cluster: *progress}
}

func awaitCluster(s State) Step {
	if s.Cluster != nil {
		return nil
	}
	return Wait{
		Reason:  v1beta2.ReasonWaitingForCluster,
		Message: fmt.Sprintf("the snapshot is proven; there is no EtcdCluster %s in namespace %s yet: one of that name will start with the snapshot", s.Restore.Spec.EtcdCluster.Name, s.Restore.Namespace),
	}
}

// refuseTooNew: a cluster may appear, or change its version, after the snapshot was proven.
func refuseTooNew(s State) Step {
	snapshot := s.Restore.Status.Snapshot
	return s.tooNew(snapshot.Path, formatOf(*snapshot))
}

// awaitStart: cluster-operator takes the restore up, unless something holds it.
func awaitStart(s State) Step {
	message := "the snapshot is proven; EtcdCluster " + s.Cluster.Name
	other := s.Cluster.Status.Restore
	switch {
	case s.Cluster.Spec.Paused:
		message += " is paused: set its spec.paused to false"
	case other != nil && other.Step != v1beta2.RestoreComplete && other.Step != v1beta2.RestoreFailed:
		message += " is busy with EtcdRestore " + other.Name
	default:
		message += " has not taken it up yet"
	}
	return Wait{Reason: v1beta2.ReasonVerified, Message: message}
}
