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

// waitForRestore: a cluster that was made together with its restore boots from it and never empty, whichever of the two
// was seen first. Until it has formed it has served nobody, so its birth may still give way.
func waitForRestore(s State) Step {
	if s.Formed() || s.RestorePending == "" {
		return nil
	}
	return Wait{
		Reason:  v1beta2.ReasonWaitingForRestore,
		Message: "The cluster starts from EtcdRestore " + s.RestorePending + " and serves no client until then. To start it empty, delete that EtcdRestore.",
		Stalled: s.step() == v1beta2.RestoreFailed,
	}
}

// foreignMembers: only a formed cluster, or a restore that the status tells of, has members that it was not bootstrapped
// with. So they are those of another operator, or the status and the client Service were lost. Nothing of them is
// touched, the Service that their clients use included; a restore may take their place.
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

// bootstrap forms a cluster that never was: all volumes, then a note that they are there, then all Pods at once,
// and at last its ID, which is kept for good. The note tells a volume that is yet to be made from one that a member
// lost after it had voted: no member starts under its old identity without its data.
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
	return Wait{Reason: v1beta2.ReasonCreating, Message: planning.Sentence("The members are starting. These do not serve yet: ", unanswered(kept))}
}

// beginBootstrap makes the volumes and notes that they are there. Where a Pod is there already, they were, and the
// note was lost with the status.
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

// restartBootstrap starts a birth without volumes over when a member is gone after another has run: it may have voted, and
// would come back empty under the same identity. Nobody has served yet, so nothing is lost. Watches tell of Pods in
// order: whoever sees one run has heard of all that were made with it.
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
