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
	{"refuseTooSmall", refuseTooSmall},
	{"awaitTurn", awaitTurn},
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

// finished: a restore happens once, and is deleted when its time has come.
func finished(s State) Step {
	switch {
	case !s.Restore.DeletionTimestamp.IsZero():
		return Done{}
	case !s.finished():
		return nil
	}
	ttl := s.Restore.Spec.TTLSecondsAfterFinished
	if ttl == nil || s.keptFromStartingEmpty() {
		return Done{}
	}
	left := s.Restore.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(s.Now)
	if left > 0 {
		return Done{After: left}
	}
	return Expire{}
}

// keptFromStartingEmpty says whether the cluster would start empty if the restore were not there.
func (s State) keptFromStartingEmpty() bool {
	return !s.Restore.Status.Succeeded && s.Cluster != nil && s.Cluster.Status.ClusterID == ""
}

// verify reads the source until it is proven, or can never be.
func verify(s State) Step {
	if s.proven() {
		return nil
	}
	wanted, none := s.wanted()
	if none != nil {
		return none
	}
	switch s.Proof.Progress {
	case ProofRunning:
		return Verifying{Percent: s.Proof.Percent}
	case ProofDone:
		return accept(s)
	case ProofFailed:
		return again(s, wanted)
	}
	return wanted
}

func accept(s State) Step {
	if fail := s.tooNew(s.Proof.Snapshot.Path, s.Proof.Format); fail != nil {
		return fail
	}
	if fail := s.tooSmall(s.Proof.Snapshot); fail != nil {
		return fail
	}
	return Accept{Source: s.Proof.Source, Why: s.Proof.Why, Snapshot: s.Proof.Snapshot}
}

// again tries once more what may pass, each time later. A source that is another one now is tried at once.
func again(s State, wanted Verify) Step {
	if s.Proof.Asked != wanted.Source || s.Proof.Choice != wanted.Choice {
		return wanted
	}
	if s.Proof.Final {
		return Fail{Reason: s.Proof.Reason, Message: s.Proof.Message}
	}
	next := s.Proof.Ended.Add(backoff(s.Restore.Status.Attempts))
	if !s.Now.Before(next) {
		return wanted
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

// refuseTooSmall: the same for the size of its volumes.
func refuseTooSmall(s State) Step { return s.tooSmall(*s.Restore.Status.Snapshot) }

// tooSmall says why the snapshot cannot be restored into the cluster's volumes: it is there twice for a moment, as it
// was fetched and as the database.
func (s State) tooSmall(snapshot v1beta2.Snapshot) Step {
	if s.Cluster == nil {
		return nil
	}
	size := max(snapshot.Size, snapshot.PlainSize)
	if has, needs := s.Cluster.Spec.MemberStorage(), 2*size; has > 0 && has < needs {
		return Fail{Reason: v1beta2.ReasonVolumeTooSmall, Message: fmt.Sprintf(
			"the members of EtcdCluster %s have volumes of %d MiB, and the restore of snapshot %s with %d MiB needs %d MiB: make them larger in the spec.pod of the cluster, then make another EtcdRestore",
			s.Cluster.Name, has>>20, snapshot.Path, size>>20, (needs>>20)+1)}
	}
	return nil
}

// awaitTurn: a cluster takes up one restore at a time, the oldest first.
func awaitTurn(s State) Step {
	if s.Ahead == "" {
		return nil
	}
	return Wait{Reason: v1beta2.ReasonQueued, Message: fmt.Sprintf(
		"the snapshot is proven; EtcdCluster %s is restored by one EtcdRestore at a time, and EtcdRestore %s comes before this one: delete one of them if both were not meant", s.Cluster.Name, s.Ahead)}
}

// awaitStart: cluster-operator takes the restore up, unless something holds it.
func awaitStart(s State) Step {
	message := "the snapshot is proven; EtcdCluster " + s.Cluster.Name
	if s.Cluster.Spec.Paused {
		message += " is paused: set its spec.paused to false"
	} else {
		message += " has not taken it up yet"
	}
	return Wait{Reason: v1beta2.ReasonVerified, Message: message}
}
