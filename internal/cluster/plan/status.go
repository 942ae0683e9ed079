package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/accounts"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/space"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
)

// NewStatus is the status after a pass: what was seen, what was done, and how that went. It is pure; before is the
// status that is replaced, for the times of transitions and the facts that cannot be seen again.
func NewStatus(s state.State, step steps.Step, actErr error, before v1beta2.EtcdClusterStatus, generation int64) v1beta2.EtcdClusterStatus {
	status := *before.DeepCopy()
	status.ObservedGeneration = generation
	status.ControlPaused = s.Spec.Paused
	status.ServiceName = s.ClientService()
	status.ClientPort, status.Endpoints = int(v1beta2.ClientPort), services.Endpoints(s)
	status.Selector = v1beta2.LabelApp + "=" + v1beta2.AppName + "," + v1beta2.LabelCluster + "=" + s.Name
	status.ClientTLSSecret = s.Spec.TLS.ClientSecret(s.Name)
	status.OperatorTLSSecret, status.OperatorAuthSecret = certificates.OperatorSecret(s), s.Spec.Auth.OperatorSecretName()
	status.ClusterID, status.Incarnation, status.Restore = s.ClusterID, s.Incarnation, s.Restore.DeepCopy()
	status.Recovery, status.PastRestores = s.Recovery.DeepCopy(), restore.PastRestores(s, before.PastRestores)
	status.VersionChange = versions.VersionChange(s)
	status.PodFailures = lifecycle.PodFailures(s, step, actErr)
	status.ReplacedVolumes = replacedVolumes(s)
	status.PromotingMember, status.ForeignMembers = membership.StillPromoting(s, step), membership.ForeignStatus(s)
	status.RemovingMember, status.AccusedMembers = membership.StillRemoving(s, step), repair.AccusedMembers(s)
	status.Space, status.Defragmentation = space.Status(s), space.DefragmentationStatus(s)
	status.Auth = accounts.Status(s, changesAccounts(step), actErr == nil)
	status.Binding, status.UserCertificates = certificates.Binding(s), certificates.RequestedUsers(s)
	status.LastRevision = modes.ReadOnlySince(s, before.LastRevision)
	if actErr == nil {
		recordFacts(&status, s, step)
		membership.RecordLearners(&status, s, step)
		recovery.ForgetSurvivors(&status, s)
		setPercent(status.Restore, s)
		setFollow(status.Restore, s, step)
		setVolumeRead(status.Restore, s)
		setUnsaved(status.Restore, s)
		setSafetyPolicy(status.Restore, s)
	}
	restore.ForgetSeedRefusal(status.Restore, s)
	if !s.Deleting {
		setMembers(&status, after(s, step, actErr))
	}
	if actErr == nil {
		space.RecordSpace(&status, s, step)
		membership.RecordRemoval(&status, step)
	}
	setConditions(&status, s, step, actErr, generation)
	return status
}

func changesAccounts(step steps.Step) bool {
	switch step.(type) {
	case steps.ChangeAccounts, steps.AnnounceAccounts:
		return true
	}
	return false
}

// after returns what a step made of the members: when the seed takes over, it is the only one.
func after(s state.State, step steps.Step, actErr error) state.State {
	if adopted, is := step.(steps.AdoptSeed); is && actErr == nil {
		s.ClusterID, s.Incarnation, s.MembershipKnown = adopted.ClusterID, adopted.Incarnation, false
		if seed, ok := state.SeedMember(s); ok {
			s.KnownVersion = seed.Version
		}
	}
	return s
}

// recordFacts keeps what a step made true and nobody could observe later.
func recordFacts(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step) {
	switch step := step.(type) {
	case steps.BeginBootstrap:
		status.Incarnation = step.Incarnation
	case steps.RecordVersionChange:
		status.VersionChange = (*v1beta2.VersionChangeStatus)(&step)
	case steps.CancelDowngrade:
		if status.VersionChange != nil && status.VersionChange.To == step.From {
			status.VersionChange = nil
		}
	case steps.RecordPromotion:
		status.PromotingMember = step.Name
	case steps.BeginRemoval:
		status.RemovingMember = step.Voter
	case steps.RecordFormed:
		status.ClusterID, status.Incarnation = step.ClusterID, step.Incarnation
	case steps.Wait:
		if s.Restoring() {
			status.Restore.Message = step.Message
		}
		if s.Forcing() && s.Recovery.ForcedAt != nil {
			status.Recovery.ForcedAt = ptr.To(metav1.NewTime(recovery.ForcedAgainAt(s)))
		}
	default:
		recordRestore(status, s, step)
		recordRecovery(status, s, step)
	}
}

// votersBefore are the voters that a recovery continues without, and its survivor. The record may lack a voter that has data. If an earlier
// recovery had not ended, the volumes of its voters have data from before, too.
func votersBefore(s state.State) []string {
	voters := append(slices.Clone(s.KnownVoters), state.MemberNames(recovery.Unlisted(s))...)
	if s.Recovery != nil && s.Recovery.Step == v1beta2.RecoveryGrowing {
		for _, earlier := range s.Recovery.Voters {
			if !slices.Contains(voters, earlier) {
				voters = append(voters, earlier)
			}
		}
	}
	return voters
}

// afterAllVolumes is now by the clock of the API server, or when the youngest volume was created by the clock of the API server, or a second after the recovery before. A recovery
// begins after all volumes that are there, whatever the operator's clock says: a younger one is of a member that was added since. And a mark of this
// recovery is later than one of an earlier recovery.
func afterAllVolumes(s state.State) time.Time {
	at := state.ServerNow(s)
	if s.LastRecovery != nil {
		at = state.Later(at, s.LastRecovery.StartedAt.Add(time.Second))
	}
	if s.Recovery != nil && s.Recovery.StartedAt != nil {
		at = state.Later(at, s.Recovery.StartedAt.Add(time.Second))
	}
	for _, m := range s.Members {
		at = state.Later(at, m.VolumeCreated)
	}
	return at
}

func recordBegunRestore(status *v1beta2.EtcdClusterStatus, s state.State, step steps.BeginRestore) {
	if r := status.Recovery; r != nil && (r.ForcedAt != nil || !recovery.Marked(s, r.StartedAt)) { // else the status may be an old one, and its marks must not be void
		rememberRecovery(status)
	}
	status.Restore = step.Restore.DeepCopy()
}

// rememberRecovery keeps which recovery was the last one, before the status has another one or none. While the survivor is restarted with
// --force-new-cluster, it may already have accepted writes. A recovery that is cancelled before that has changed nothing, and is not
// remembered: if it has marked volumes, the status may also be an old one of a recovery that was carried out. Then a person decides. One that the status has again after that does not replace a later one.
func rememberRecovery(status *v1beta2.EtcdClusterStatus) {
	r, last := status.Recovery, status.LastRecovery
	if r == nil || r.StartedAt == nil {
		return
	}
	if r.Step == v1beta2.RecoveryForcing || last == nil || !r.StartedAt.Before(&last.StartedAt) {
		status.LastRecovery = &v1beta2.PastRecovery{Member: r.Member, StartedAt: *r.StartedAt}
	}
}

// earlierRecovery is what the status reports again when a recovery is cancelled. The volumes that the earlier one replaced are still
// to be set aside.
func earlierRecovery(cancelled *v1beta2.ClusterRecoveryStatus) *v1beta2.ClusterRecoveryStatus {
	if cancelled == nil || cancelled.Earlier == nil {
		return nil
	}
	e := cancelled.Earlier
	return &v1beta2.ClusterRecoveryStatus{
		Step: e.Step, Member: e.Member, Revision: e.Revision, Voters: e.Voters, StartedAt: e.StartedAt,
		Message: fmt.Sprintf("The cluster continued from member %s at revision %d. A later recovery was cancelled.", e.Member, e.Revision),
	}
}

// recordRecovery keeps how far a recovery from a lost quorum is.
func recordRecovery(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step) {
	switch step := step.(type) {
	case steps.BeginRecovery:
		rememberRecovery(status)
		status.Recovery = &v1beta2.ClusterRecoveryStatus{
			Step: v1beta2.RecoveryForcing, Member: step.Member, RaftIndex: int64(step.RaftIndex), RaftTerm: int64(step.RaftTerm),
			Voters: votersBefore(s), StartedAt: ptr.To(metav1.NewTime(afterAllVolumes(s))),
			Message: "The other members stop, and survivor " + step.Member + " is restarted once with --force-new-cluster.",
			Earlier: state.AsEarlier(s.Recovery),
		}
	case steps.RecordForced:
		rememberRecovery(status)
		status.Recovery.Step, status.Recovery.Revision, status.Recovery.Earlier = v1beta2.RecoveryGrowing, step.Revision, nil
		status.Recovery.Message = fmt.Sprintf("Survivor %s serves alone at revision %d. The cluster is growing to %d members.", status.Recovery.Member, step.Revision, s.Spec.Size)
	case steps.RecordForcing:
		status.Recovery.ForcedAt = ptr.To(metav1.NewTime(s.Now))
	case steps.CancelRecovery:
		if status.Recovery != nil && status.Recovery.ForcedAt != nil && !step.NeverForced {
			rememberRecovery(status)
			recovery.NoteSurvivor(status, s)
		}
		status.Recovery = earlierRecovery(status.Recovery)
	case steps.CompleteRecovery:
		status.Recovery.Step = v1beta2.RecoveryComplete
		status.Recovery.Message = fmt.Sprintf("The cluster recovered from member %s at revision %d.", status.Recovery.Member, status.Recovery.Revision)
	}
}

// recordRestore keeps what the steps of a restore made true.
func recordRestore(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step) {
	switch step := step.(type) {
	case steps.BeginRestore:
		recordBegunRestore(status, s, step)
	case steps.PromoteStandby:
		status.Restore.Message = steps.Describe(s, step).Message
		if status.Restore.Follow != nil {
			status.Restore.Follow.Promote = step.Promotion()
		}
	case steps.AwaitSafetySnapshot:
		status.Restore.SeedReadyTime, status.Restore.Message = ptr.To(metav1.NewTime(restore.AskedFor(s)).Rfc3339Copy()), state.AwaitsSafety(s)
	case steps.BeginSwitch:
		recordSafety(status.Restore, s)
		status.Restore.Step = v1beta2.RestoreSwitching
		status.Restore.ClusterID, status.Restore.Revision = step.ClusterID, step.Revision
		status.Restore.Message = "The seed serves the snapshot. The old members refuse writes or stop, and then the client Service selects the seed."
	case steps.FenceWrites:
		if s.Switching() && step.Seed == "" && step.ID == state.RestoreFence(s) {
			status.Restore.LastRevision = max(state.LastRevision(s), 1)
		}
	case steps.ReturnToSeeding:
		status.Restore.Step, status.Restore.Message = v1beta2.RestoreSeeding, steps.Describe(s, step).Message
		status.Restore.ClusterID, status.Restore.Revision, status.Restore.LastRevision = "", 0, 0
		status.Restore.Returns++
		if state.WantsExact(s) { // it is asked for behind the next fence
			status.Restore.SeedReadyTime = nil
		}
	case steps.AdoptSeed:
		recordSafety(status.Restore, s)
		status.ClusterID, status.Incarnation, status.VersionChange = step.ClusterID, step.Incarnation, nil
		status.PromotingMember, status.RemovingMember, status.ForeignMembers = "", "", nil
		status.Recovery = nil // it was about the members before
		status.Restore.Step, status.Restore.LastRevision = v1beta2.RestoreGrowing, state.LastRevision(s)
		rememberRestore(status, s)
		status.Restore.Message = fmt.Sprintf("The restored data is served. The cluster is growing to %d members.", s.Spec.Size) + state.TooLate(s)
		if seed, ok := state.SeedMember(s); ok {
			status.CurrentVersion = seed.Version
			status.MemberStatuses = []v1beta2.MemberStatus{{Name: seed.Name, Role: v1beta2.MemberVoter, ClientURL: state.ClientURL(s, seed.Name)}}
		}
	case steps.CompleteRestore:
		status.Restore.Step = v1beta2.RestoreComplete
		status.Restore.Message = "The restored cluster serves at its full size." + state.TooLate(s)
	case steps.FailRestore:
		status.Restore.Step, status.Restore.LastRevision = v1beta2.RestoreFailed, 0
		status.Restore.Message = step.Message
	}
}
