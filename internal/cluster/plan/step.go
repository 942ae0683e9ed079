package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Step is one effect. Steps are small comparable structs, so that a test compares what Plan said.
type Step interface {
	// Reason is the condition reason while the step is being done, one of the API's constants.
	Reason() string
	// Requeue is how long after the step the world should be looked at again; 0 leaves it to watches and the poll.
	Requeue() time.Duration
}

const (
	// soon: a step was done and the next may follow; time enough for the cache to hear of it.
	soon = 100 * time.Millisecond
	// pollSettling is the pace while members come up, which no watch tells of.
	pollSettling = 500 * time.Millisecond
	// pollConflict gives the cache time to catch up.
	PollConflict = 100 * time.Millisecond
	// pollSettled is the pace of looking at a cluster that is as it should be.
	pollSettled = 10 * time.Second
)

// Start is how a member's etcd comes up.
type Start string

// Starts. Every one but Rejoin makes data; Rejoin refuses to run without it, so that a member that has voted
// never votes again with an empty data directory.
const (
	// StartNew forms a new cluster together with the other initial members.
	StartNew Start = "New"
	// StartJoin joins a formed cluster that has just added the member.
	StartJoin Start = "Join"
	// StartRejoin goes on with the data on the volume.
	StartRejoin Start = "Rejoin"
	// StartSeed goes on with the data that an init container restores from a snapshot.
	StartSeed Start = "Seed"
	// StartForce goes on with the data on the volume as a cluster of one, all other members removed
	// (--force-new-cluster). Nobody but the operator is led to such a member, and it is soon made again.
	StartForce Start = "Force"
)

type (
	// Done says that the cluster is as asked for.
	Done struct{}
	// Idle says that nothing may be done (paused, or being deleted).
	Idle struct{ Why, Message string }
	// Wait says that something must happen first that the operator does not do itself. Stalled: a person must act.
	Wait struct {
		Why, Message string
		Stalled      bool
		// Pace of looking again, where a look costs much or no user waits for it; 0 is that of members that come up.
		Pace time.Duration
	}
	// ApplyServices makes the headless Service, and the client Service for an incarnation.
	ApplyServices struct {
		Incarnation int32
		ClusterID   string
		// RestoreUID is that of the EtcdRestore that made the incarnation.
		RestoreUID types.UID
	}
	// CreateVolumes makes the volumes of the members that form a cluster; what is there already is left.
	CreateVolumes struct {
		Incarnation int32
		Size        int
	}
	// BeginBootstrap records that those volumes are all there, before any Pod is.
	BeginBootstrap struct{ Incarnation int32 }
	// CreateMembers makes the Pods of the members that form a cluster, where they have their volume.
	CreateMembers struct {
		Incarnation int32
		Size        int
	}
	// CreateMember makes a member's Pod, and before it its volume where it has none.
	CreateMember struct {
		Name        string
		Incarnation int32
		InitialSize int
		Start       Start
	}
	// RecordFormed keeps the cluster's ID.
	RecordFormed struct {
		ClusterID   string
		Incarnation int32
	}
	// ExposeMember lets the client Service select a member that votes.
	ExposeMember struct{ Name string }
	// AddLearner adds a member to the membership.
	AddLearner struct {
		Name, PeerURL string
		// Voter starts it, and adds it with a vote at once, for etcd older than 3.4.
		Voter bool
	}
	// PromoteLearner gives a learner its vote.
	PromoteLearner struct {
		ID   etcd.ID
		Name string
	}
	// MoveLeader hands leadership from one member to another.
	MoveLeader struct {
		From string
		To   etcd.ID
		Name string
	}
	// RemoveMember takes a member out of the membership.
	RemoveMember struct {
		ID   etcd.ID
		Name string
		// Replace says why another takes its place; it is empty where the cluster shrinks.
		Replace string
	}
	// RelabelPod brings a Pod's labels and annotations to what the spec asks, while it runs.
	RelabelPod struct{ Name string }
	// EnableDowngrade has etcd bring the data of all members down to a minor version, on the way to another.
	EnableDowngrade struct{ To, For string }
	// CancelDowngrade calls that off.
	CancelDowngrade struct{ From string }
	// RecordVersionChange records what the members' data was proven to be prepared for.
	RecordVersionChange v1beta2.VersionChangeStatus
	// DeletePod stops a member; its volume stays.
	DeletePod struct{ Name, Why, Message string }
	// ForgetPod deletes the Pod of a removed member whose host does not confirm that it stopped.
	ForgetPod struct{ Name string }
	// DeleteVolume deletes a volume that is proven not to be needed any more.
	DeleteVolume struct{ Name, Why string }

	// BeginRestore records that a restore is taken up.
	BeginRestore struct{ Restore v1beta2.ClusterRestoreStatus }
	// StopMembers stops every member that is not of one incarnation, 0 for none; volumes stay.
	StopMembers struct{ Except int32 }
	// BeginSwitch records that the seed is proven; from here there is no way back.
	BeginSwitch struct {
		ClusterID string
		Revision  int64
	}
	// AdoptSeed records that the seed is the cluster now.
	AdoptSeed struct {
		ClusterID   string
		Incarnation int32
	}
	// CompleteRestore records that the restored cluster is at size and the old volumes are gone.
	CompleteRestore struct{}
	// FailRestore records that the seed failed; the old cluster was not touched.
	FailRestore struct{ Message string }

	// BeginRecovery records the survivor that the cluster goes on from.
	BeginRecovery struct {
		Member              string
		RaftIndex, RaftTerm uint64
	}
	// RecordForced records that the survivor served as a cluster of one.
	RecordForced struct{ Revision int64 }
	// CancelRecovery records that the survivor was not restarted, or is lost.
	CancelRecovery struct{ Message string }
	// CompleteRecovery records that the cluster is at size again.
	CompleteRecovery struct{}
)

func (Done) Reason() string             { return v1beta2.ReasonReady }
func (s Idle) Reason() string           { return s.Why }
func (s Wait) Reason() string           { return s.Why }
func (ApplyServices) Reason() string    { return v1beta2.ReasonCreating }
func (CreateVolumes) Reason() string    { return v1beta2.ReasonCreating }
func (BeginBootstrap) Reason() string   { return v1beta2.ReasonCreating }
func (CreateMembers) Reason() string    { return v1beta2.ReasonCreating }
func (RecordFormed) Reason() string     { return v1beta2.ReasonCreating }
func (ExposeMember) Reason() string     { return v1beta2.ReasonScaling }
func (AddLearner) Reason() string       { return v1beta2.ReasonScaling }
func (PromoteLearner) Reason() string   { return v1beta2.ReasonScaling }
func (MoveLeader) Reason() string       { return v1beta2.ReasonScaling }
func (s DeletePod) Reason() string      { return s.Why }
func (s DeleteVolume) Reason() string   { return s.Why }
func (BeginRestore) Reason() string     { return v1beta2.ReasonRestoring }
func (BeginSwitch) Reason() string      { return v1beta2.ReasonRestoring }
func (AdoptSeed) Reason() string        { return v1beta2.ReasonRestoring }
func (CompleteRestore) Reason() string  { return v1beta2.ReasonRestoring }
func (FailRestore) Reason() string      { return v1beta2.ReasonRestoring }
func (ForgetPod) Reason() string        { return v1beta2.ReasonReplacingMember }
func (BeginRecovery) Reason() string    { return v1beta2.ReasonRecovering }
func (RecordForced) Reason() string     { return v1beta2.ReasonRecovering }
func (CancelRecovery) Reason() string   { return v1beta2.ReasonQuorumLost }
func (CompleteRecovery) Reason() string { return v1beta2.ReasonRecovering }
func (s StopMembers) Reason() string {
	if s.Except == 0 {
		return v1beta2.ReasonCreating
	}
	return v1beta2.ReasonRestoring
}
func (s RemoveMember) Reason() string {
	if s.Replace != "" {
		return v1beta2.ReasonReplacingMember
	}
	return v1beta2.ReasonScaling
}
func (s CreateMember) Reason() string {
	switch s.Start {
	case StartSeed:
		return v1beta2.ReasonRestoring
	case StartJoin:
		return v1beta2.ReasonScaling
	case StartForce:
		return v1beta2.ReasonRecovering
	}
	return v1beta2.ReasonMemberDown
}

func (Done) Requeue() time.Duration             { return pollSettled }
func (Idle) Requeue() time.Duration             { return pollSettled }
func (ApplyServices) Requeue() time.Duration    { return soon }
func (CreateVolumes) Requeue() time.Duration    { return soon }
func (BeginBootstrap) Requeue() time.Duration   { return soon }
func (CreateMembers) Requeue() time.Duration    { return soon }
func (CreateMember) Requeue() time.Duration     { return soon }
func (RecordFormed) Requeue() time.Duration     { return soon }
func (ExposeMember) Requeue() time.Duration     { return soon }
func (AddLearner) Requeue() time.Duration       { return soon }
func (PromoteLearner) Requeue() time.Duration   { return soon }
func (MoveLeader) Requeue() time.Duration       { return soon }
func (RemoveMember) Requeue() time.Duration     { return soon }
func (DeletePod) Requeue() time.Duration        { return soon }
func (DeleteVolume) Requeue() time.Duration     { return soon }
func (BeginRestore) Requeue() time.Duration     { return soon }
func (StopMembers) Requeue() time.Duration      { return pollSettling }
func (BeginSwitch) Requeue() time.Duration      { return soon }
func (AdoptSeed) Requeue() time.Duration        { return soon }
func (CompleteRestore) Requeue() time.Duration  { return soon }
func (FailRestore) Requeue() time.Duration      { return soon }
func (ForgetPod) Requeue() time.Duration        { return soon }
func (BeginRecovery) Requeue() time.Duration    { return soon }
func (RecordForced) Requeue() time.Duration     { return soon }
func (CancelRecovery) Requeue() time.Duration   { return pollSettling }
func (CompleteRecovery) Requeue() time.Duration { return soon }

// Requeue soon, because no watch tells what is waited for.
func (s Wait) Requeue() time.Duration {
	if s.Pace > 0 {
		return s.Pace
	}
	return pollSettling
}

// Describe says in one sentence what a step does, or what is waited for.
func Describe(s State, step Step) string { return MessageOf(s, step) }
