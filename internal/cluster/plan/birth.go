package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// FirstIncarnation is the incarnation that a cluster is bootstrapped with.
const FirstIncarnation int32 = 1

// waitForRestore waits until an EtcdRestore of a new cluster is verified. The cluster starts from it, whichever of the two
// objects was created first. A cluster that has not formed has served no client, so its members may still be replaced.
func waitForRestore(s State) Step {
	if s.Formed() || s.RestorePending == "" {
		return nil
	}
	if step := reportUnreadableRestore(s); step != nil {
		return step
	}
	return Wait{
		Reason:  v1beta2.ReasonWaitingForRestore,
		Message: "The cluster starts from EtcdRestore " + s.RestorePending + " and serves no client until then. To start it empty, delete that EtcdRestore.",
		Stalled: s.step() == v1beta2.RestoreFailed,
		Limit:   slowWaitLimit, Overdue: v1beta2.ReasonWaitingForRestore, Progress: s.RestoreProgress,
		Advice: "Read the status of EtcdRestore " + s.RestorePending + ", and check that restore-operator is running.",
	}
}

// foreignMembers stops the plan if a cluster that has not formed has members that it was not bootstrapped with. They belong
// to another operator, or the status and the client Service were lost. The operator changes neither them nor the Service
// that their clients use. A restore may replace them.
func foreignMembers(s State) Step {
	if s.Formed() || s.Request != nil || s.Restoring() {
		return nil
	}
	for _, m := range s.Members {
		failedSeed := s.Restore != nil && m.Incarnation == s.Restore.Incarnation
		there := m.Pod != PodNone || m.Volume != VolumeNone
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
func bootstrap(s State) Step {
	if s.Formed() {
		return nil
	}
	size := s.Spec.Size
	for _, m := range s.initial() {
		if m.Serving {
			return RecordFormed{ClusterID: m.ClusterID.String(), Incarnation: FirstIncarnation}
		}
		size = m.InitialSize
	}
	if s.Durable() && s.Incarnation == 0 {
		return beginBootstrap(s, size)
	}
	if step := s.restartBootstrap(size); step != nil {
		return step
	}
	if len(s.Bootable(FirstIncarnation, size)) > 0 {
		return CreateMembers{Incarnation: FirstIncarnation, Size: size}
	}
	kept := slices.DeleteFunc(slices.Clone(s.initial()), func(m Member) bool { return !s.HoldsData(m) })
	if len(kept) < etcd.Quorum(size) && s.Durable() {
		return Wait{
			Reason:  v1beta2.ReasonQuorumLost,
			Message: fmt.Sprintf("Only %d of %d volumes exist, too few to form the cluster. It has served no client, so no data is lost. Delete the EtcdCluster and create it again.", len(kept), size),
			Stalled: true,
		}
	}
	if wait := s.waitForAttempt(s.initial()); wait != nil {
		return wait
	}
	if wait := s.blocked(kept); wait != nil {
		return wait
	}
	return s.waitUntilFormed(kept)
}

// waitUntilFormed waits for the first member that serves. If none does for long, the operator says so and deletes nothing: a
// cluster that lost its status and its client Service looks like a new one, and has data.
func (s State) waitUntilFormed(members []Member) Step {
	if len(members) == 0 {
		return Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting."}
	}
	if slices.ContainsFunc(members, func(m Member) bool { return !s.unreadyFor(m, startGrace) }) {
		return Wait{Reason: v1beta2.ReasonCreating, Message: planning.Sentence("The members are starting. These do not serve yet: ", unanswered(members))}
	}
	return Wait{
		Reason: v1beta2.ReasonCreating, Stalled: true,
		Message: planning.Sentence("The cluster has not formed. These members have not served for more than "+startGrace.String()+": ", unanswered(members)) +
			" Read the log of a member's Pod, and correct what it names. If a new cluster logs \"no leader\" and nothing else is wrong, etcd was killed before its first entry. " +
			"Such a cluster has no data: delete the EtcdCluster and create it again.",
	}
}

// beginBootstrap creates the volumes and records that they exist. If a Pod exists already, so did the volumes, and the
// record was lost with the status.
func beginBootstrap(s State, size int) Step {
	volumes := 0
	for _, m := range s.initial() {
		if m.Pod != PodNone {
			return BeginBootstrap{Incarnation: FirstIncarnation}
		}
		volumes++
	}
	switch {
	case volumes == size:
		return BeginBootstrap{Incarnation: FirstIncarnation}
	case s.NoStorageClass:
		return noStorageClass()
	}
	return CreateVolumes{Incarnation: FirstIncarnation, Size: size}
}

// restartBootstrap stops all members of a new cluster without volumes if one is missing after another has run. The missing
// member may have voted, and would restart empty under the same identity. No client was served yet, so no data is lost.
// Watches report Pods in order: if one is seen to run, all that were created with it were seen.
func (s State) restartBootstrap(size int) Step {
	if s.Durable() {
		return nil
	}
	ran, stopping := false, Member{}
	for _, m := range s.initial() {
		ran = ran || m.Pod == PodRunning || m.Pod == PodBlocked && m.PodReason == v1beta2.ReasonPodFailing
		if m.Pod == PodDeleting {
			stopping = m
		}
	}
	missing := len(s.Bootable(FirstIncarnation, size)) > 0
	switch {
	case missing && ran:
		return StopMembers{}
	case stopping.Name != "":
		return s.waitUntilGone(stopping, v1beta2.ReasonCreating, "Member "+stopping.Name+" is stopping. Then all members start again.")
	}
	return nil
}

// CreateVolumes makes the volumes of the members that form a cluster. It keeps those that exist.
type CreateVolumes struct {
	Incarnation int32
	Size        int
}

func (step CreateVolumes) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the volumes of %d members.", step.Size),
		Requeue: requeueSoon,
	}, "CreatingVolumes", cluster)
}

// BeginBootstrap records that those volumes all exist, before any Pod does.
type BeginBootstrap struct{ Incarnation int32 }

func (BeginBootstrap) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "All volumes exist. The members can start.",
		Requeue: requeueSoon,
	}
}

// CreateMembers makes the Pods of the members that form a cluster and have their volume.
type CreateMembers struct {
	Incarnation int32
	Size        int
}

func (step CreateMembers) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the Pods of %d members.", step.Size),
		Requeue: requeueSoon,
	}, "CreatingMembers", cluster)
}

// RecordFormed keeps the cluster's ID.
type RecordFormed struct {
	ClusterID   string
	Incarnation int32
}

func (step RecordFormed) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The cluster has formed with ID " + step.ClusterID + ".",
		Requeue: requeueSoon,
	}, "ClusterFormed", cluster)
}

// initial are the members that form the cluster.
func (s State) initial() []Member {
	return s.where(func(m Member) bool { return m.Incarnation == FirstIncarnation && m.InitialSize > 0 })
}

// Bootable are the initial members that may start and have no Pod: with emptyDir all, else those with a volume.
func (s State) Bootable(incarnation int32, size int) []string {
	return slices.DeleteFunc(s.InitialNames(incarnation, size), func(name string) bool {
		for _, m := range s.Members {
			if m.Name == name {
				return m.Pod != PodNone || (s.Durable() && m.Volume != VolumePresent)
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
