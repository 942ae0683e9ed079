package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// removeFailedSeed removes the seed of a failed restore. It never became the cluster, and the next seed has another incarnation, so nothing waits
// for it.
func removeFailedSeed(s State) Step {
	for _, m := range s.Members {
		switch {
		case !s.failedSeed(m):
		case m.Pod != PodNone && m.Pod != PodDeleting:
			if remove := (DeletePod{Name: m.Name, Reason: v1beta2.ReasonRestoring, Message: "its restore failed"}); s.may(remove) {
				return remove
			}
		case m.Pod == PodNone && (m.Volume == VolumePresent || m.Volume == VolumeLost):
			if remove := (DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}); s.may(remove) {
				return remove
			}
		}
	}
	return nil
}

// failedSeed says whether a member belongs to an incarnation that never became the cluster. If the status was lost, only a
// cluster that serves proves that a later incarnation failed.
func (s State) failedSeed(m Member) bool {
	underWay := s.Restoring() && m.Incarnation == s.Restore.Incarnation
	if underWay || m.Incarnation <= max(s.Incarnation, FirstIncarnation) {
		return false
	}
	failed := s.step() == v1beta2.RestoreFailed && m.Incarnation == s.Restore.Incarnation
	return failed || (s.Formed() && s.MembershipKnown)
}

// maxSeedFailures ended runs of the seed's init container make the restore fail; each run retries by itself first.
const maxSeedFailures = 3

const (
	// imageGrace is how long an image may be missing, which a registry that is down for a moment makes it, too.
	imageGrace = 5 * time.Minute
	// seedGrace is how long a seed may be kept from starting by anything else: hosts may be on their way.
	seedGrace = 15 * time.Minute
	// maxSeedPods is how many Pods of a seed may fail in a row, because a node rejects or evicts them. With the pauses between them, that
	// takes longer than seedGrace.
	maxSeedPods = 12
	// seedBase and seedRate limit the whole restore of a seed: an hour, and the time for its bytes at 1 MiB a second.
	seedBase = time.Hour
	seedRate = 1 << 20
)

// seedLimit is how long a seed may take until it serves.
func (s State) seedLimit() time.Duration {
	if s.Request == nil {
		return seedBase
	}
	return seedBase + time.Duration((s.Request.Size+s.Request.PlainSize)/seedRate)*time.Second
}

// seedStuck says what a seed has been waiting for too long, that no second try of its own ends; empty for nothing.
func (s State) seedStuck(seed Member) string {
	grace, ready := seedGrace, seed.Serving && (seed.PodReady || s.switching())
	if seed.PodReason == v1beta2.ReasonImageUnavailable {
		grace = imageGrace
	}
	switch {
	case s.overdue(seed):
		return "The node of seed " + seed.Name + " does not confirm that its Pod has stopped."
	case seed.Pod == PodEnded:
		return s.seedEnds(seed)
	case seed.Pod == PodBlocked && s.unreadyFor(seed, grace):
		return planning.Sentence(fmt.Sprintf("Seed %s has not started for %s: ", seed.Name, grace), seed.PodMessage)
	case seed.Pod == PodRunning && !ready && seed.Seed != nil && !seed.Seed.DoneAt.IsZero() && s.Now.Sub(seed.Seed.DoneAt) > startGrace && s.unreadyFor(seed, startGrace):
		return planning.Sentence(fmt.Sprintf("Seed %s was restored, but has not served for %s: ", seed.Name, startGrace), seed.cause())
	case (seed.Pod == PodStarting || seed.Pod == PodRunning) && !ready && s.unreadyFor(seed, s.seedLimit()):
		return fmt.Sprintf("Seed %s has not become ready for %s. That is too long for this snapshot.", seed.Name, s.seedLimit())
	}
	return ""
}

// seedEnds says that the Pods of a seed end too often, or that one which has ended cannot be replaced; empty for neither.
func (s State) seedEnds(seed Member) string {
	switch {
	case s.podFailure(seed.Name).Count+1 >= maxSeedPods:
		return planning.Sentence(fmt.Sprintf("The Pod of seed %s failed %d times in a row: ", seed.Name, maxSeedPods), seed.PodMessage)
	case s.stopRefused(seed.Name) && s.unreadyFor(seed, seedGrace):
		return planning.Sentence(fmt.Sprintf("The Pod of seed %s has ended, and has not been replaced for %s: ", seed.Name, seedGrace), seed.PodMessage) + " The API server refuses to delete it."
	}
	return ""
}

// seedFailed says whether the seed's init container has failed for good.
func (m Member) seedFailed() bool {
	return m.Seed != nil && (m.Seed.Hopeless || m.Seed.Failures >= maxSeedFailures)
}
