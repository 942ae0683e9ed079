package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// NewStatus is the status after a pass: what was seen, what was done, and how that went. It is pure; before is the
// status that is replaced, for the times of transitions and the facts that cannot be seen again.
func NewStatus(s State, step Step, actErr error, before v1beta2.EtcdClusterStatus, generation int64) v1beta2.EtcdClusterStatus {
	status := *before.DeepCopy()
	status.ObservedGeneration = generation
	status.ControlPaused = s.Spec.Paused
	status.ServiceName = s.clientService()
	status.ClientPort = int(v1beta2.ClientPort)
	status.Selector = v1beta2.LabelApp + "=" + v1beta2.AppName + "," + v1beta2.LabelCluster + "=" + s.Name
	status.ClientTLSSecret = s.Spec.TLS.ClientSecret(s.Name)
	status.ClusterID, status.Incarnation, status.Restore = s.ClusterID, s.Incarnation, s.Restore.DeepCopy()
	status.Recovery = s.Recovery.DeepCopy()
	status.VersionChange = s.versionChange()
	status.Space, status.Defragmentation = s.space(), s.defragmentation()
	if actErr == nil {
		recordFacts(&status, s, step)
		setPercent(status.Restore, s)
	}
	if !s.Deleting {
		setMembers(&status, s)
	}
	if actErr == nil {
		recordSpace(&status, s, step)
	}
	setConditions(&status, s, step, actErr, generation)
	return status
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
	case RecordFormed:
		status.ClusterID, status.Incarnation = step.ClusterID, step.Incarnation
	case BeginRestore:
		status.Restore, status.Recovery = step.Restore.DeepCopy(), nil
	case BeginSwitch:
		status.Restore.Step = v1beta2.RestoreSwitching
		status.Restore.ClusterID, status.Restore.Revision = step.ClusterID, step.Revision
		status.Restore.Message = "the seed is proven: the old members stop and the client Service turns to it"
	case AdoptSeed:
		status.ClusterID, status.Incarnation, status.VersionChange = step.ClusterID, step.Incarnation, nil
		status.Restore.Step = v1beta2.RestoreGrowing
		status.Restore.Message = fmt.Sprintf("the restored data is served; growing to %d members", s.Spec.Size) + s.tooLate()
		if seed, ok := s.seed(); ok {
			status.CurrentVersion = seed.Version
			status.MemberStatuses = []v1beta2.MemberStatus{{Name: seed.Name, Role: v1beta2.MemberVoter}}
		}
	case CompleteRestore:
		status.Restore.Step = v1beta2.RestoreComplete
		status.Restore.Message = "the restored cluster serves at its full size" + s.tooLate()
	case FailRestore:
		status.Restore.Step = v1beta2.RestoreFailed
		status.Restore.Message = step.Message
	case Wait:
		if s.restoring() {
			status.Restore.Message = step.Message
		}
	default:
		recordRecovery(status, s, step)
	}
}

// recordRecovery keeps how far a recovery from a lost quorum is.
func recordRecovery(status *v1beta2.EtcdClusterStatus, s State, step Step) {
	switch step := step.(type) {
	case BeginRecovery:
		status.Recovery = &v1beta2.ClusterRecoveryStatus{
			Step: v1beta2.RecoveryForcing, Member: step.Member, RaftIndex: int64(step.RaftIndex), RaftTerm: int64(step.RaftTerm),
			Voters: slices.Clone(s.KnownVoters), StartedAt: ptr.To(metav1.NewTime(s.Now)),
			Message: "the others stop, and survivor " + step.Member + " is restarted once with --force-new-cluster",
		}
	case RecordForced:
		status.Recovery.Step, status.Recovery.Revision = v1beta2.RecoveryGrowing, step.Revision
		status.Recovery.Message = fmt.Sprintf("survivor %s serves alone at revision %d; growing to %d members", status.Recovery.Member, step.Revision, s.Spec.Size)
	case CancelRecovery:
		status.Recovery = nil
	case CompleteRecovery:
		status.Recovery.Step = v1beta2.RecoveryComplete
		status.Recovery.Message = fmt.Sprintf("recovered from member %s at revision %d", status.Recovery.Member, status.Recovery.Revision)
	}
}

// setMembers reports the members of the incarnation that is, or is to be, the cluster.
func setMembers(status *v1beta2.EtcdClusterStatus, s State) {
	sizes := make(map[string]int64, len(status.MemberStatuses))
	for _, m := range status.MemberStatuses {
		sizes[m.Name] = m.DBSize
	}
	before := status.MemberStatuses
	status.Members, status.MemberStatuses = v1beta2.MembersStatus{}, nil
	for _, m := range s.incarnation(max(s.Incarnation, firstIncarnation)) {
		if s.MembershipKnown && !m.InMembership {
			continue
		}
		ready := m.Serving && m.PodReady
		if ready {
			status.Members.Ready = append(status.Members.Ready, m.Name)
		} else {
			status.Members.Unready = append(status.Members.Unready, m.Name)
		}
		status.MemberStatuses = append(status.MemberStatuses, v1beta2.MemberStatus{
			Name:      m.Name,
			ID:        idOf(m),
			Role:      roleOf(s, m, before),
			Version:   m.Version,
			ClientURL: s.clientURL(m.Name),
			DBSize:    steady(sizes[m.Name], m.DBSize),

			VolumeSize: m.VolumeCapacity,
			Ready:      ready,
		})
	}
	keepDefragmented(status.MemberStatuses, before)
	if s.Formed() && !s.MembershipKnown {
		keepMissing(status, before)
	}
	status.Size = len(status.Members.Ready)
	if v := s.lowestVersion(); v != "" && s.answered() {
		status.CurrentVersion = v
	}
	status.TargetVersion = ""
	if status.CurrentVersion != "" && status.CurrentVersion != s.Spec.EtcdVersion() {
		status.TargetVersion = s.Spec.EtcdVersion()
	}
}

// keepMissing keeps members of which neither Pod nor volume is left, while there is no quorum to say that they were
// removed: how many there were tells whether quorum is lost.
func keepMissing(status *v1beta2.EtcdClusterStatus, before []v1beta2.MemberStatus) {
	for _, b := range before {
		if !slices.ContainsFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == b.Name }) {
			b.Ready = false
			if b.Role == v1beta2.MemberLeader {
				b.Role = v1beta2.MemberVoter
			}
			status.Members.Unready = append(status.Members.Unready, b.Name)
			status.MemberStatuses = append(status.MemberStatuses, b)
		}
	}
	slices.Sort(status.Members.Unready)
	slices.SortFunc(status.MemberStatuses, func(a, b v1beta2.MemberStatus) int { return cmp.Compare(a.Name, b.Name) })
}

func idOf(m Member) string {
	if m.ID == 0 {
		return ""
	}
	return m.ID.String()
}

// roleOf keeps the last known role while there is no quorum to ask: how many voters there were tells whether
// enough of them are left.
func roleOf(s State, m Member, before []v1beta2.MemberStatus) v1beta2.MemberRole {
	switch {
	case m.Leader && m.Answers:
		return v1beta2.MemberLeader
	case s.MembershipKnown && m.Learner:
		return v1beta2.MemberLearner
	case s.MembershipKnown:
		return v1beta2.MemberVoter
	}
	for _, b := range before {
		if b.Name == m.Name && b.Role == v1beta2.MemberLeader {
			return v1beta2.MemberVoter
		}
		if b.Name == m.Name {
			return b.Role
		}
	}
	return ""
}

// steady keeps a database size that differs by less than a tenth: a busy cluster must not cause a status write
// at every look.
func steady(before, now int64) int64 {
	if now == 0 || abs(now-before)*10 < now {
		return before
	}
	return now
}

func abs(n int64) int64 { return max(n, -n) }

// conditionTypes are all that an EtcdCluster has. Others are those of the archived operator, which nobody would
// take back (Scaling, say).
var conditionTypes = []string{
	v1beta2.ConditionReady, v1beta2.ConditionAvailable, v1beta2.ConditionProgressing, v1beta2.ConditionDegraded, v1beta2.ConditionStalled,
}

// setConditions words the pass for people and for tools.
func setConditions(status *v1beta2.EtcdClusterStatus, s State, step Step, actErr error, generation int64) {
	set := func(kind string, is bool, reason, message string) {
		value := metav1.ConditionFalse
		if is {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(s.Now),
		})
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool { return !slices.Contains(conditionTypes, c.Type) })
	reason, message := step.Reason(), messageOf(s, step)
	wait, waiting := step.(Wait)
	_, idle := step.(Idle)
	_, done := step.(Done)
	_, asleep := step.(Asleep)
	done = done || asleep // as the spec asks
	if actErr != nil {
		reason, message, done = v1beta2.ReasonReconcileError, actErr.Error(), false
	}
	set(v1beta2.ConditionReady, done, reason, message)
	set(v1beta2.ConditionProgressing, !done && !idle && !wait.Stalled, reason, message)
	stalled := waiting && wait.Stalled && actErr == nil
	set(v1beta2.ConditionStalled, stalled, reason, message)
	available, whyNot := s.available()
	if asleep {
		whyNot = message
	}
	if available {
		set(v1beta2.ConditionAvailable, true, v1beta2.ReasonReady, fmt.Sprintf("a quorum serves; connect to %s:%d", s.clientService(), v1beta2.ClientPort))
	} else {
		set(v1beta2.ConditionAvailable, false, unavailableReason(s, reason), whyNot)
	}
	degraded, which := s.degraded()
	if degraded && asleep {
		set(v1beta2.ConditionDegraded, false, reason, message)
	} else if degraded {
		set(v1beta2.ConditionDegraded, true, v1beta2.ReasonMemberDown, which)
	} else {
		set(v1beta2.ConditionDegraded, false, v1beta2.ReasonReady, "")
	}
	status.Phase, status.Reason = phaseOf(s, stalled), ""
	if !done {
		status.Reason = message
	}
}

func unavailableReason(s State, reason string) string {
	if s.Formed() && reason == v1beta2.ReasonReady {
		return v1beta2.ReasonMemberDown
	}
	return reason
}

// available: a quorum of the incarnation that clients are led to serves.
func (s State) available() (bool, string) {
	if !s.Formed() {
		return false, "the cluster has not formed yet"
	}
	if len(s.alarms(etcd.AlarmCorrupt)) > 0 {
		return false, "etcd refuses requests, because a CORRUPT alarm is on"
	}
	for _, m := range s.Current() {
		if m.Serving && m.Exposed {
			return true, ""
		}
	}
	return false, "no member serves: " + unanswered(s.Current())
}

// degraded: a formed cluster with a voter that does not serve, or with fewer voters than its spec asks for.
func (s State) degraded() (bool, string) {
	if !s.Formed() {
		return false, ""
	}
	down := s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && !m.Learner && !m.Serving && (m.InMembership || !s.MembershipKnown)
	})
	var said []string
	if len(down) > 0 {
		said = append(said, "members that do not serve: "+unanswered(down))
	}
	if missing := s.missing(); missing > 0 {
		said = append(said, fmt.Sprintf("%d of %d voters are missing", missing, max(s.Spec.Size, len(s.KnownVoters))))
	}
	return len(said) > 0, strings.Join(said, "; ")
}

// missing counts the voters that the spec asks for and that there are not. Without a quorum to tell, those count that
// there were and of which nothing is left.
func (s State) missing() int {
	if s.MembershipKnown {
		return s.Spec.Size - s.Voters().Total
	}
	return len(slices.DeleteFunc(slices.Clone(s.KnownVoters), func(voter string) bool {
		_, there := s.member(voter)
		return there
	}))
}

func phaseOf(s State, stalled bool) v1beta2.ClusterPhase {
	switch {
	case stalled:
		return v1beta2.ClusterPhaseFailed
	case !s.Formed():
		return v1beta2.ClusterPhaseCreating
	}
	return v1beta2.ClusterPhaseRunning
}
