package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// NewStatus is the status after a pass: what was seen, what was done, and how that went. It is pure; before is the
// status that is replaced, for the times of transitions and the facts that cannot be seen again.
func NewStatus(s state.State, step Step, actErr error, before v1beta2.EtcdClusterStatus, generation int64) v1beta2.EtcdClusterStatus {
	status := *before.DeepCopy()
	status.ObservedGeneration = generation
	status.ControlPaused = s.Spec.Paused
	status.ServiceName = s.ClientService()
	status.ClientPort = int(v1beta2.ClientPort)
	status.Selector = v1beta2.LabelApp + "=" + v1beta2.AppName + "," + v1beta2.LabelCluster + "=" + s.Name
	status.ClientTLSSecret = s.Spec.TLS.ClientSecret(s.Name)
	status.OperatorTLSSecret, status.OperatorAuthSecret = operatorSecret(s), s.Spec.Auth.OperatorSecretName()
	status.ClusterID, status.Incarnation, status.Restore = s.ClusterID, s.Incarnation, s.Restore.DeepCopy()
	status.Recovery, status.PastRestores = s.Recovery.DeepCopy(), pastRestores(s, before.PastRestores)
	status.VersionChange = versionChange(s)
	status.PodFailures = podFailures(s, step, actErr)
	status.ReplacedVolumes = replacedVolumes(s)
	status.PromotingMember, status.ForeignMembers = stillPromoting(s, step), foreignStatus(s)
	status.RemovingMember, status.AccusedMembers = stillRemoving(s, step), accusedMembers(s)
	status.Space, status.Defragmentation = spaceStatus(s), defragmentationStatus(s)
	status.LastRevision = readOnlySince(s, before.LastRevision)
	if actErr == nil {
		recordFacts(&status, s, step)
		recordLearners(&status, s, step)
		forgetSurvivors(&status, s)
		setPercent(status.Restore, s)
		setUnsaved(status.Restore, s)
		setSafetyPolicy(status.Restore, s)
	}
	forgetSeedRefusal(status.Restore, s)
	if !s.Deleting {
		setMembers(&status, after(s, step, actErr))
	}
	if actErr == nil {
		RecordSpace(&status, s, step)
		RecordRemoval(&status, step)
	}
	setConditions(&status, s, step, actErr, generation)
	return status
}

// after returns what a step made of the members: when the seed takes over, it is the only one.
func after(s state.State, step Step, actErr error) state.State {
	if adopted, is := step.(AdoptSeed); is && actErr == nil {
		s.ClusterID, s.Incarnation, s.MembershipKnown = adopted.ClusterID, adopted.Incarnation, false
		if seed, ok := state.SeedMember(s); ok {
			s.KnownVersion = seed.Version
		}
	}
	return s
}

// recordFacts keeps what a step made true and nobody could observe later.
func recordFacts(status *v1beta2.EtcdClusterStatus, s state.State, step Step) {
	switch step := step.(type) {
	case BeginBootstrap:
		status.Incarnation = step.Incarnation
	case RecordVersionChange:
		status.VersionChange = (*v1beta2.VersionChangeStatus)(&step)
	case CancelDowngrade:
		if status.VersionChange != nil && status.VersionChange.To == step.From {
			status.VersionChange = nil
		}
	case RecordPromotion:
		status.PromotingMember = step.Name
	case BeginRemoval:
		status.RemovingMember = step.Voter
	case RecordFormed:
		status.ClusterID, status.Incarnation = step.ClusterID, step.Incarnation
	case Wait:
		if s.Restoring() {
			status.Restore.Message = step.Message
		}
		if s.Forcing() && s.Recovery.ForcedAt != nil {
			status.Recovery.ForcedAt = ptr.To(metav1.NewTime(forcedAgainAt(s)))
		}
	default:
		recordRestore(status, s, step)
		recordRecovery(status, s, step)
	}
}

// votersBefore are the voters that a recovery continues without, and its survivor. The record may lack a voter that has data. If an earlier
// recovery had not ended, the volumes of its voters have data from before, too.
func votersBefore(s state.State) []string {
	voters := append(slices.Clone(s.KnownVoters), state.MemberNames(unlisted(s))...)
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

func recordBegunRestore(status *v1beta2.EtcdClusterStatus, s state.State, step BeginRestore) {
	if r := status.Recovery; r != nil && (r.ForcedAt != nil || !marked(s, r.StartedAt)) { // else the status may be an old one, and its marks must not be void
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
func recordRecovery(status *v1beta2.EtcdClusterStatus, s state.State, step Step) {
	switch step := step.(type) {
	case BeginRecovery:
		rememberRecovery(status)
		status.Recovery = &v1beta2.ClusterRecoveryStatus{
			Step: v1beta2.RecoveryForcing, Member: step.Member, RaftIndex: int64(step.RaftIndex), RaftTerm: int64(step.RaftTerm),
			Voters: votersBefore(s), StartedAt: ptr.To(metav1.NewTime(afterAllVolumes(s))),
			Message: "The other members stop, and survivor " + step.Member + " is restarted once with --force-new-cluster.",
			Earlier: state.AsEarlier(s.Recovery),
		}
	case RecordForced:
		rememberRecovery(status)
		status.Recovery.Step, status.Recovery.Revision, status.Recovery.Earlier = v1beta2.RecoveryGrowing, step.Revision, nil
		status.Recovery.Message = fmt.Sprintf("Survivor %s serves alone at revision %d. The cluster is growing to %d members.", status.Recovery.Member, step.Revision, s.Spec.Size)
	case RecordForcing:
		status.Recovery.ForcedAt = ptr.To(metav1.NewTime(s.Now))
	case CancelRecovery:
		if status.Recovery != nil && status.Recovery.ForcedAt != nil && !step.NeverForced {
			rememberRecovery(status)
			noteSurvivor(status, s)
		}
		status.Recovery = earlierRecovery(status.Recovery)
	case CompleteRecovery:
		status.Recovery.Step = v1beta2.RecoveryComplete
		status.Recovery.Message = fmt.Sprintf("The cluster recovered from member %s at revision %d.", status.Recovery.Member, status.Recovery.Revision)
	}
}
