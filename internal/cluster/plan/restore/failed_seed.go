package restore

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// RemoveFailedSeed removes the seed of a failed restore. It never became the cluster, and the next seed has another incarnation, so nothing waits
// for it.
func RemoveFailedSeed(s state.State) steps.Step {
	for _, m := range s.Members {
		switch {
		case !failedSeed(s, m):
		case m.Pod != state.PodNone && m.Pod != state.PodDeleting:
			if remove := (steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRestoring, Message: "its restore failed"}); waits.May(s, remove) {
				return remove
			}
		case m.Pod == state.PodNone && (m.Volume == state.VolumePresent || m.Volume == state.VolumeLost):
			if remove := (steps.DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}); waits.May(s, remove) {
				return remove
			}
		}
	}
	return nil
}

// failedSeed says whether a member belongs to an incarnation that never became the cluster. If the status was lost, only a
// cluster that serves proves that a later incarnation failed.
func failedSeed(s state.State, m state.Member) bool {
	underWay := s.Restoring() && m.Incarnation == s.Restore.Incarnation
	if underWay || m.Incarnation <= max(s.Incarnation, state.FirstIncarnation) {
		return false
	}
	failed := state.RestoreStep(s) == v1beta2.RestoreFailed && m.Incarnation == s.Restore.Incarnation
	return failed || (s.Formed() && s.MembershipKnown)
}

const (
	// imageGrace is how long an image may be missing, which a registry that is down for a moment makes it, too.
	imageGrace = 5 * time.Minute
	// SeedGrace is how long a seed may be kept from starting by anything else: hosts may be on their way.
	SeedGrace = 15 * time.Minute
	// maxSeedPods is how many Pods of a seed may fail in a row, because a node rejects or evicts them. With the pauses between them, that
	// takes longer than seedGrace.
	maxSeedPods = 12
	// seedBase and seedRate limit the whole restore of a seed: an hour, and the time for its bytes at 1 MiB a second.
	seedBase = time.Hour
	seedRate = 1 << 20
)

// seedLimit is how long a seed may take until it serves.
func seedLimit(s state.State) time.Duration {
	if s.Request == nil {
		return seedBase
	}
	return seedBase + time.Duration((s.Request.Size+s.Request.PlainSize)/seedRate)*time.Second
}

// seedStuck says what a seed has been waiting for too long, that no second try of its own ends; empty for nothing.
func seedStuck(s state.State, seed state.Member) string {
	grace, ready := SeedGrace, seed.Serving && (seed.PodReady || s.Switching())
	if seed.PodReason == v1beta2.ReasonImageUnavailable {
		grace = imageGrace
	}
	switch {
	case state.Overdue(s, seed):
		return "The node of seed " + seed.Name + " does not confirm that its Pod has stopped."
	case seed.Pod == state.PodEnded:
		return seedEnds(s, seed)
	case seed.Pod == state.PodBlocked && state.UnreadyFor(s, seed, grace):
		return planning.Sentence(fmt.Sprintf("Seed %s has not started for %s: ", seed.Name, grace), seed.PodMessage)
	case seed.Pod == state.PodRunning && !ready && seed.Seed != nil && !seed.Seed.DoneAt.IsZero() && s.Now.Sub(seed.Seed.DoneAt) > state.StartGrace && state.UnreadyFor(s, seed, state.StartGrace):
		return planning.Sentence(fmt.Sprintf("Seed %s was restored, but has not served for %s: ", seed.Name, state.StartGrace), seed.Cause())
	case isStandby(s):
		// It may follow for months, and is promoted with all of its data.
	case (seed.Pod == state.PodStarting || seed.Pod == state.PodRunning) && !ready && state.UnreadyFor(s, seed, seedLimit(s)):
		return fmt.Sprintf("Seed %s has not become ready for %s. That is too long for this snapshot.", seed.Name, seedLimit(s))
	}
	return ""
}

// seedEnds says that the Pods of a seed end too often, or that one which has ended cannot be replaced; empty for neither.
func seedEnds(s state.State, seed state.Member) string {
	switch {
	case state.PodFailure(s, seed.Name).Count+1 >= maxSeedPods:
		return planning.Sentence(fmt.Sprintf("The Pod of seed %s failed %d times in a row: ", seed.Name, maxSeedPods), seed.PodMessage)
	case state.StopRefused(s, seed.Name) && state.UnreadyFor(s, seed, SeedGrace):
		return planning.Sentence(fmt.Sprintf("The Pod of seed %s has ended, and has not been replaced for %s: ", seed.Name, SeedGrace), seed.PodMessage) + " The API server refuses to delete it."
	}
	return ""
}
