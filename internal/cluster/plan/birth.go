package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// waitForRestore waits until an EtcdRestore of a new cluster is verified. The cluster starts from it, whichever of the two
// objects was created first. A cluster that has not formed has served no client, so its members may still be replaced.
func waitForRestore(s state.State) Step {
	if s.Formed() || s.RestorePending == "" {
		return nil
	}
	if step := reportUnreadableRestore(s); step != nil {
		return step
	}
	return Wait{
		Reason:  v1beta2.ReasonWaitingForRestore,
		Message: "The cluster starts from EtcdRestore " + s.RestorePending + " and serves no client until then. To start it empty, delete that EtcdRestore.",
		Stalled: state.RestoreStep(s) == v1beta2.RestoreFailed,
		Limit:   state.SlowWaitLimit, Overdue: v1beta2.ReasonWaitingForRestore, Progress: s.RestoreProgress,
		Advice: "Read the status of EtcdRestore " + s.RestorePending + ", and check that restore-operator is running.",
	}
}

// foreignMembers stops the plan if a cluster that has not formed has members that it was not bootstrapped with. They belong
// to another operator, or the status and the client Service were lost. The operator changes neither them nor the Service
// that their clients use. A restore may replace them.
func foreignMembers(s state.State) Step {
	if s.Formed() || s.Request != nil || s.Restoring() {
		return nil
	}
	for _, m := range s.Members {
		failedSeed := s.Restore != nil && m.Incarnation == s.Restore.Incarnation
		there := m.Pod != state.PodNone || m.Volume != state.VolumeNone
		if m.InitialSize == 0 && there && !failedSeed {
			return Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + m.Name + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			}
		}
	}
	return nil
}

// bootstrap forms a new cluster. It creates all volumes, records that they exist, creates all Pods at once, and records the
// ID of the cluster. If a volume is missing after the record, a member that may have voted has lost its data: no member
// starts under its old identity without its data.
func bootstrap(s state.State) Step {
	if s.Formed() {
		return nil
	}
	size := s.Spec.Size
	for _, m := range state.Initial(s) {
		if m.Serving {
			return RecordFormed{ClusterID: m.ClusterID.String(), Incarnation: state.FirstIncarnation}
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
		return CreateMembers{Incarnation: state.FirstIncarnation, Size: size}
	}
	kept := slices.DeleteFunc(slices.Clone(state.Initial(s)), func(m state.Member) bool { return !s.HoldsData(m) })
	if len(kept) < etcd.Quorum(size) && s.Durable() {
		return Wait{
			Reason:  v1beta2.ReasonQuorumLost,
			Message: fmt.Sprintf("Only %d of %d volumes exist, too few to form the cluster. It has served no client, so no data is lost. Delete the EtcdCluster and create it again.", len(kept), size),
			Stalled: true,
		}
	}
	if wait := waitForAttempt(s, state.Initial(s)); wait != nil {
		return wait
	}
	if wait := blocked(s, kept); wait != nil {
		return wait
	}
	return waitUntilFormed(s, kept)
}

// waitUntilFormed waits for the first member that serves. If none does for long, the operator says so and deletes nothing: a
// cluster that lost its status and its client Service looks like a new one, and has data.
func waitUntilFormed(s state.State, members []state.Member) Step {
	if len(members) == 0 {
		return Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting."}
	}
	if slices.ContainsFunc(members, func(m state.Member) bool { return !state.UnreadyFor(s, m, state.StartGrace) }) {
		return Wait{Reason: v1beta2.ReasonCreating, Message: planning.Sentence("The members are starting. These do not serve yet: ", state.Unanswered(members))}
	}
	return Wait{
		Reason: v1beta2.ReasonCreating, Stalled: true,
		Message: planning.Sentence("The cluster has not formed. These members have not served for more than "+state.StartGrace.String()+": ", state.Unanswered(members)) +
			" Read the log of a member's Pod, and correct what it names. If a new cluster logs \"no leader\" and nothing else is wrong, etcd was killed before its first entry. " +
			"Such a cluster has no data: delete the EtcdCluster and create it again.",
	}
}

// beginBootstrap creates the volumes and records that they exist. If a Pod exists already, so did the volumes, and the
// record was lost with the status.
func beginBootstrap(s state.State, size int) Step {
	volumes := 0
	for _, m := range state.Initial(s) {
		if m.Pod != state.PodNone {
			return BeginBootstrap{Incarnation: state.FirstIncarnation}
		}
		volumes++
	}
	switch {
	case volumes == size:
		return BeginBootstrap{Incarnation: state.FirstIncarnation}
	case s.NoStorageClass:
		return noStorageClass()
	}
	return CreateVolumes{Incarnation: state.FirstIncarnation, Size: size}
}

// restartBootstrap stops all members of a new cluster without volumes if one is missing after another has run. The missing
// member may have voted, and would restart empty under the same identity. No client was served yet, so no data is lost.
// Watches report Pods in order: if one is seen to run, all that were created with it were seen.
func restartBootstrap(s state.State, size int) Step {
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
		return StopMembers{}
	case stopping.Name != "":
		return waitUntilGone(s, stopping, v1beta2.ReasonCreating, "Member "+stopping.Name+" is stopping. Then all members start again.")
	}
	return nil
}

// CreateVolumes makes the volumes of the members that form a cluster. It keeps those that exist.
type CreateVolumes struct {
	Incarnation int32
	Size        int
}

func (step CreateVolumes) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the volumes of %d members.", step.Size),
		Requeue: state.RequeueSoon,
	}, "CreatingVolumes", cluster)
}

// BeginBootstrap records that those volumes all exist, before any Pod does.
type BeginBootstrap struct{ Incarnation int32 }

func (BeginBootstrap) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "All volumes exist. The members can start.",
		Requeue: state.RequeueSoon,
	}
}

// CreateMembers makes the Pods of the members that form a cluster and have their volume.
type CreateMembers struct {
	Incarnation int32
	Size        int
}

func (step CreateMembers) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the Pods of %d members.", step.Size),
		Requeue: state.RequeueSoon,
	}, "CreatingMembers", cluster)
}

// RecordFormed keeps the cluster's ID.
type RecordFormed struct {
	ClusterID   string
	Incarnation int32
}

func (step RecordFormed) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The cluster has formed with ID " + step.ClusterID + ".",
		Requeue: state.RequeueSoon,
	}, "ClusterFormed", cluster)
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

func noStorageClass() Step {
	return Wait{
		Reason: v1beta2.ReasonNoStorageClass,
		Message: "Kubernetes has no default StorageClass, so a member gets no volume and does not start. " +
			"Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. " +
			"For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod.",
		Stalled: true,
	}
}
