package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// NewStatus is the status after a pass: what was seen, what was done, and how that went. It is pure; before is the
// status that is replaced, for the times of transitions and the facts that cannot be seen again.
func NewStatus(s State, step Step, actErr error, before v1beta2.EtcdClusterStatus, generation int64) v1beta2.EtcdClusterStatus {
	status := *before.DeepCopy()
	status.ObservedGeneration = generation
	status.ControlPaused = s.Spec.Paused
	status.ServiceName = s.ClientService()
	status.ClientPort = int(v1beta2.ClientPort)
	status.Selector = v1beta2.LabelApp + "=" + v1beta2.AppName + "," + v1beta2.LabelCluster + "=" + s.Name
	status.ClientTLSSecret = s.Spec.TLS.ClientSecret(s.Name)
	status.OperatorTLSSecret, status.OperatorAuthSecret = s.operatorSecret(), s.Spec.Auth.OperatorSecretName()
	status.ClusterID, status.Incarnation, status.Restore = s.ClusterID, s.Incarnation, s.Restore.DeepCopy()
	status.Recovery, status.PastRestores = s.Recovery.DeepCopy(), s.pastRestores(before.PastRestores)
	status.VersionChange = s.versionChange()
	status.PodFailures = s.podFailures(step, actErr)
	status.ReplacedVolumes = s.replacedVolumes()
	status.PromotingMember, status.ForeignMembers = s.stillPromoting(step), s.foreignStatus()
	status.RemovingMember, status.AccusedMembers = s.stillRemoving(step), s.accusedMembers()
	status.Space, status.Defragmentation = s.space(), s.defragmentation()
	status.LastRevision = s.readOnlySince(before.LastRevision)
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
		setMembers(&status, s.after(step, actErr))
	}
	if actErr == nil {
		RecordSpace(&status, s, step)
		RecordRemoval(&status, step)
	}
	setConditions(&status, s, step, actErr, generation)
	return status
}

// after returns what a step made of the members: when the seed takes over, it is the only one.
func (s State) after(step Step, actErr error) State {
	if adopted, is := step.(AdoptSeed); is && actErr == nil {
		s.ClusterID, s.Incarnation, s.MembershipKnown = adopted.ClusterID, adopted.Incarnation, false
		if seed, ok := s.seed(); ok {
			s.KnownVersion = seed.Version
		}
	}
	return s
}

// recordFacts keeps what a step made true and nobody could observe later.
func recordFacts(status *v1beta2.EtcdClusterStatus, s State, step Step) {
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
		if s.forcing() && s.Recovery.ForcedAt != nil {
			status.Recovery.ForcedAt = ptr.To(metav1.NewTime(s.forcedAgainAt()))
		}
	default:
		recordRestore(status, s, step)
		recordRecovery(status, s, step)
	}
}

// votersBefore are the voters that a recovery continues without, and its survivor. The record may lack a voter that has data. If an earlier
// recovery had not ended, the volumes of its voters have data from before, too.
func (s State) votersBefore() []string {
	voters := append(slices.Clone(s.KnownVoters), memberNames(s.unlisted())...)
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
func (s State) afterAllVolumes() time.Time {
	at := s.serverNow()
	if s.LastRecovery != nil {
		at = later(at, s.LastRecovery.StartedAt.Add(time.Second))
	}
	if s.Recovery != nil && s.Recovery.StartedAt != nil {
		at = later(at, s.Recovery.StartedAt.Add(time.Second))
	}
	for _, m := range s.Members {
		at = later(at, m.VolumeCreated)
	}
	return at
}

func recordBegunRestore(status *v1beta2.EtcdClusterStatus, s State, step BeginRestore) {
	if r := status.Recovery; r != nil && (r.ForcedAt != nil || !s.marked(r.StartedAt)) { // else the status may be an old one, and its marks must not be void
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

// asEarlier is what another recovery keeps of the one before it, nil for none.
func asEarlier(r *v1beta2.ClusterRecoveryStatus) *v1beta2.EarlierRecovery {
	if r == nil || r.Step == v1beta2.RecoveryForcing {
		return nil
	}
	return &v1beta2.EarlierRecovery{Step: r.Step, Member: r.Member, Revision: r.Revision, Voters: slices.Clone(r.Voters), StartedAt: r.StartedAt.DeepCopy()}
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
func recordRecovery(status *v1beta2.EtcdClusterStatus, s State, step Step) {
	switch step := step.(type) {
	case BeginRecovery:
		rememberRecovery(status)
		status.Recovery = &v1beta2.ClusterRecoveryStatus{
			Step: v1beta2.RecoveryForcing, Member: step.Member, RaftIndex: int64(step.RaftIndex), RaftTerm: int64(step.RaftTerm),
			Voters: s.votersBefore(), StartedAt: ptr.To(metav1.NewTime(s.afterAllVolumes())),
			Message: "The other members stop, and survivor " + step.Member + " is restarted once with --force-new-cluster.",
			Earlier: asEarlier(s.Recovery),
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
