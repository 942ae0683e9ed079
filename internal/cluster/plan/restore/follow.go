package restore

import (
	"fmt"
	"math"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A standby is a seed that follows an archive until it is promoted. Until then, the restore is in the step Seeding:
//
//	 source        serve ── archive ──────────────────────── (lost, or stopped by a person)
//	 seed                 follow ───────────────────▶ promote ── start ── prove │ serve ── grow to size ──▶ complete
//	 step          │ Seeding                                                    │ Switching │ Growing │ Complete
//
// The standby may be the last copy of the data, so nothing but the deletion of its EtcdRestore removes it.

const (
	// followInterval is how often a standby is asked how far it is.
	followInterval = v1beta2.FollowUpdateInterval
	// followerSilent is how long a standby may not answer.
	followerSilent = 5 * time.Minute
	// noLimit is for a wait that only a person ends.
	noLimit = time.Duration(math.MaxInt64 / 4)
)

// keepStandby returns the next step of a restore. One that fails removes its seed, and a standby is removed only if its EtcdRestore is deleted. So it waits for a person instead.
func keepStandby(s state.State, step steps.Step) steps.Step {
	failed, fails := step.(steps.FailRestore)
	if deleted := !s.Requested() && !s.RestoreUnverified && !s.RestoreFailed; !fails || !isStandby(s) || deleted {
		return step
	}
	return steps.Wait{Reason: v1beta2.ReasonFollowing, Stalled: true, Message: failed.Message + keptStandby}
}

// keptStandby ends a message about a standby that cannot continue.
const keptStandby = " The operator keeps the standby. To remove it, delete the EtcdRestore."

// standbyHeld returns the promotion of a standby, or what keeps it from its next step that a person must correct. Any other restore fails instead, and its seed is removed.
func standbyHeld(s state.State, seed state.Member) steps.Step {
	if !isStandby(s) {
		return nil
	}
	stalled := func(message string) steps.Step {
		return steps.Wait{Reason: v1beta2.ReasonFollowing, Stalled: true, Message: message + keptStandby}
	}
	switch {
	case s.RestoreUnverified && !s.Requested():
		return stalled(state.NotRequested(s) + " The standby is neither promoted nor removed until restore-operator has verified the EtcdRestore again.")
	case !s.Requested():
		return nil
	case promoteStandby(s, seed) != nil && lacksUser(s, seed):
		return steps.Wait{Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Message: "Standby " + seed.Name + " is not promoted. Authentication is on in its data, and the operators have no user there: etcd would refuse them after the " +
			"standby has taken over, and the source never takes writes again. " + state.HowToPermit(s, etcd.RefusedUnknown)}
	case promoteStandby(s, seed) != nil: // a standby that cannot follow can still be promoted with what it has
		return promoteStandby(s, seed)
	case seed.Pod == state.PodNone && s.Request.Source.Secret == "" && s.PodPolicy().ServiceAccountName == "":
		return steps.Wait{Reason: v1beta2.ReasonFollowNeedsCredentials, Stalled: true, Message: "The standby reads the archive for as long as it follows, and has no identity for that. " +
			"Set spec.pod.serviceAccountName of the EtcdCluster to a ServiceAccount with the right to list and read the store, or delete the EtcdRestore and create it again with a Secret."}
	case seed.SeedFailed() && seed.Seed.Hopeless && seed.Seed.Following == nil: // otherwise it runs again
		return stalled(planning.Sentence("Standby "+seed.Name+" cannot continue: ", seed.Seed.Message))
	}
	if why := seedStuck(s, seed); why != "" {
		return stalled(why)
	}
	return nil
}

// lacksUser reports whether etcd would refuse the operators after a planned promotion. One with Now is for a source that is lost, so it does not wait for a user.
func lacksUser(s state.State, seed state.Member) bool {
	noSecret := s.Spec.Auth.OperatorSecretName() == "" || s.Authentication.Problem != ""
	return promotion(s) == v1beta2.FollowPromotePlanned && seed.Seed.Authentication && !s.Spec.TLS.SecureClient() && noSecret
}

// promoteStandby tells a standby to become the cluster, if its EtcdRestore asks for that.
func promoteStandby(s state.State, seed state.Member) steps.Step {
	if !isStandby(s) || seed.Pod == state.PodNone || seed.Seed == nil || !seed.Seed.DoneAt.IsZero() || !promoting(s, seed) {
		return nil
	}
	planned := promotion(s) == v1beta2.FollowPromotePlanned
	if seed.Seed.Promoting && (planned || !seed.Seed.Planned) { // it was told so. What is planned can be changed, because the source may be lost before it has stopped
		return nil
	}
	return steps.PromoteStandby{Name: seed.Name, Planned: planned}
}

// waitForStandby waits while a standby follows, or until it is promoted.
func waitForStandby(s state.State, seed state.Member) steps.Step {
	of, ended := s.Request.Follow.Cluster, ""
	if seed.Seed != nil && seed.Seed.Message != "" {
		ended = planning.Sentence(" Its process ended before: ", seed.Seed.Message)
	}
	advice := "Read the log of its init container: kubectl logs " + seed.Name + " --all-containers."
	switch {
	case awaitsSource(s, seed):
		return steps.Wait{
			Reason: v1beta2.ReasonFollowing, Requeue: followInterval, Limit: noLimit,
			Message: "Standby " + seed.Name + " is promoted when its source has stopped and it has all writes. Set spec.continuous.switchover of the EtcdBackup of " + of + " to true. Its status.switchover says how far that is.",
		}
	case promoting(s, seed):
		return steps.Wait{
			Reason: v1beta2.ReasonRestoring, Message: "Standby " + seed.Name + " is being promoted. It serves when it has all that the archive of " + of + " has in the store." + ended,
			Limit: state.SlowWaitLimit, Progress: s.Restore.Follow.Revision, Advice: advice,
		}
	case seed.Seed == nil || seed.Seed.Following == nil:
		message := "Standby " + seed.Name + ", which follows the archive of " + of + ", does not answer."
		return steps.Wait{Reason: v1beta2.ReasonFollowing, Message: message + ended, Requeue: followInterval, Limit: followerSilent, Overdue: v1beta2.ReasonFollowerSilent, Advice: advice}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonFollowing, Requeue: followInterval, Limit: noLimit,
		Message: fmt.Sprintf("Standby %s follows the archive of %s, and serves no client until it is promoted. status.restore.follow says how far it is. To promote it, set spec.follow.promote of EtcdRestore %s.", seed.Name, of, s.Restore.Name),
	}
}

// waitForSeedOrStandby waits until a seed serves.
func waitForSeedOrStandby(s state.State, seed state.Member) steps.Step {
	if !isStandby(s) || s.Request.Follow == nil || seed.Seed != nil && !seed.Seed.DoneAt.IsZero() {
		return waitForSeed(s, seed)
	}
	if wait := waits.WaitForAttempt(s, []state.Member{seed}); wait != nil {
		return wait
	}
	return waitForStandby(s, seed)
}
