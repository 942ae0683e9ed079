package membership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// WaitForRestore waits until an EtcdRestore of a new cluster is verified. The cluster starts from it, whichever of the two
// objects was created first. A cluster that has not formed has served no client, so its members may still be replaced.
func WaitForRestore(s state.State) steps.Step {
	if s.Formed() || s.RestorePending == "" {
		return nil
	}
	if step := waits.ReportUnreadableRestore(s); step != nil {
		return step
	}
	return steps.Wait{
		Reason:  v1beta2.ReasonWaitingForRestore,
		Message: "The cluster starts from EtcdRestore " + s.RestorePending + " and serves no client until then. To start it empty, delete that EtcdRestore.",
		Stalled: state.RestoreStep(s) == v1beta2.RestoreFailed,
		Limit:   state.SlowWaitLimit, Overdue: v1beta2.ReasonWaitingForRestore, Progress: s.RestoreProgress,
		Advice: "Read the status of EtcdRestore " + s.RestorePending + ", and check that restore-operator is running.",
	}
}

// Bootstrap forms a new cluster. It creates all volumes, records that they exist, creates all Pods at once, and records the
// ID of the cluster. If a volume is missing after the record, a member that may have voted has lost its data: no member
// starts under its old identity without its data.
func Bootstrap(s state.State) steps.Step {
	if s.Formed() {
		return nil
	}
	size := s.Spec.Size
	for _, m := range state.Initial(s) {
		if m.Serving {
			return steps.RecordFormed{ClusterID: m.ClusterID.String(), Incarnation: state.FirstIncarnation}
		}
		size = m.InitialSize
	}
	if s.Durable() && s.Incarnation == 0 {
		return beginBootstrap(s, size)
	}
	if step := restartBootstrap(s, size); step != nil {
		return step
	}
	if len(Bootable(s, state.FirstIncarnation, size)) > 0 {
		return steps.CreateMembers{Incarnation: state.FirstIncarnation, Size: size}
	}
	kept := slices.DeleteFunc(slices.Clone(state.Initial(s)), func(m state.Member) bool { return !s.HoldsData(m) })
	if len(kept) < etcd.Quorum(size) && s.Durable() {
		return steps.Wait{
			Reason:  v1beta2.ReasonQuorumLost,
			Message: fmt.Sprintf("Only %d of %d volumes exist, too few to form the cluster. It has served no client, so no data is lost. Delete the EtcdCluster and create it again.", len(kept), size),
			Stalled: true,
		}
	}
	if step := restartForCorrectedCA(s, kept); step != nil {
		return step
	}
	if wait := waits.WaitForAttempt(s, state.Initial(s)); wait != nil {
		return wait
	}
	if wait := waits.Blocked(s, kept); wait != nil {
		return wait
	}
	return waitUntilFormed(s, kept)
}

// waitUntilFormed waits for the first member that serves. If none does for long, the operator says so and deletes nothing: a
// cluster that lost its status and its client Service looks like a new one, and has data.
func waitUntilFormed(s state.State, members []state.Member) steps.Step {
	if len(members) == 0 {
		return steps.Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting."}
	}
	if slices.ContainsFunc(members, func(m state.Member) bool { return !state.UnreadyFor(s, m, state.StartGrace) }) {
		return steps.Wait{Reason: v1beta2.ReasonCreating, Message: planning.Sentence("The members are starting. These do not serve yet: ", state.Unanswered(members)) + readWrongCA(s, members)}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonCreating, Stalled: true,
		Message: planning.Sentence("The cluster has not formed. These members have not served for more than "+state.StartGrace.String()+": ", state.Unanswered(members)) +
			readWrongCA(s, members) + " Read the log of a member's Pod, and correct what it names. If a new cluster logs \"no leader\" and nothing else is wrong, etcd was killed before its first entry. " +
			"Such a cluster has no data: delete the EtcdCluster and create it again.",
	}
}

// restartForCorrectedCA restarts members of a new cluster that do not serve, and were started with other CAs than their Secrets hold now. Somebody may have
// corrected the Secrets, and etcd reads CAs only when it starts. A cluster that lost its status looks like a new one, so no Pod that is ready is stopped, and
// none that would lose data.
func restartForCorrectedCA(s state.State, members []state.Member) steps.Step {
	for _, m := range members {
		if m.Pod == state.PodRunning && !m.PodReady && !state.StopsLater(m) && state.TrustsOldCA(s, m) && state.KeepsData(s, m) && state.UnreadyFor(s, m, state.RecreateGrace) {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not serve, and it must trust the CA that its Secrets hold now"}
		}
	}
	return nil
}

// readWrongCA names the members of a new cluster that were started with other CAs, as sentences that follow others.
func readWrongCA(s state.State, members []state.Member) string {
	old := slices.DeleteFunc(slices.Clone(members), func(m state.Member) bool { return m.Pod != state.PodRunning || !state.TrustsOldCA(s, m) })
	if len(old) == 0 {
		return ""
	}
	return " These members were started with other CAs than their Secrets hold now, and may refuse the operator: " + strings.Join(state.MemberNames(old), ", ") +
		". If the cluster is new, delete their Pods to have them read the CAs again. Otherwise put the previous CA back into the Secrets."
}

// beginBootstrap creates the volumes and records that they exist. If a Pod exists already, so did the volumes, and the
// record was lost with the status.
func beginBootstrap(s state.State, size int) steps.Step {
	volumes := 0
	for _, m := range state.Initial(s) {
		if m.Pod != state.PodNone {
			return steps.BeginBootstrap{Incarnation: state.FirstIncarnation}
		}
		volumes++
	}
	switch {
	case volumes == size:
		return steps.BeginBootstrap{Incarnation: state.FirstIncarnation}
	case s.NoStorageClass:
		return waits.NoStorageClass()
	}
	return steps.CreateVolumes{Incarnation: state.FirstIncarnation, Size: size}
}

// restartBootstrap stops all members of a new cluster without volumes if one is missing after another has run. The missing
// member may have voted, and would restart empty under the same identity. No client was served yet, so no data is lost.
// Watches report Pods in order: if one is seen to run, all that were created with it were seen.
func restartBootstrap(s state.State, size int) steps.Step {
	if s.Durable() {
		return nil
	}
	ran, stopping := false, state.Member{}
	for _, m := range state.Initial(s) {
		ran = ran || m.Pod == state.PodRunning || m.Pod == state.PodBlocked && m.PodReason == v1beta2.ReasonPodFailing
		if m.Pod == state.PodDeleting {
			stopping = m
		}
	}
	missing := len(Bootable(s, state.FirstIncarnation, size)) > 0
	switch {
	case missing && ran:
		return steps.StopMembers{}
	case stopping.Name != "":
		return waits.WaitUntilGone(s, stopping, v1beta2.ReasonCreating, "Member "+stopping.Name+" is stopping. Then all members start again.")
	}
	return nil
}

// Bootable are the initial members that may start and have no Pod: with emptyDir all, else those with a volume.
func Bootable(s state.State, incarnation int32, size int) []string {
	return slices.DeleteFunc(state.InitialNames(s, incarnation, size), func(name string) bool {
		for _, m := range s.Members {
			if m.Name == name {
				return m.Pod != state.PodNone || (s.Durable() && m.Volume != state.VolumePresent)
			}
		}
		return s.Durable()
	})
}
