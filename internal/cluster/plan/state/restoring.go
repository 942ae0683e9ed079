package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// maxSeedFailures ended runs of the seed's init container make the restore fail; each run retries by itself first.
const maxSeedFailures = 3

// SeedFailed says whether the seed's init container has failed for good.
func (m Member) SeedFailed() bool {
	return m.Seed != nil && (m.Seed.Hopeless || m.Seed.Failures >= maxSeedFailures)
}

// WithEarlier adds the restore that took over under a release that recorded none.
func WithEarlier(past []v1beta2.PastRestore, last *v1beta2.ClusterRestoreStatus, now time.Time) []v1beta2.PastRestore {
	tookOver := last != nil && (last.Step == v1beta2.RestoreGrowing || last.Step == v1beta2.RestoreComplete)
	if !tookOver || last.Name == "" && now.IsZero() || slices.ContainsFunc(past, func(p v1beta2.PastRestore) bool { return p.UID == last.UID }) {
		return past
	}
	return append(slices.Clone(past), v1beta2.PastRestore{
		Name: cmp.Or(last.Name, string(last.UID)), UID: last.UID, CreationTime: last.CreationTime, SpecHash: last.SpecHash, Time: metav1.NewTime(now), ClusterID: last.ClusterID, SafetySnapshot: last.SafetySnapshot,
	})
}

// Forcing says whether a survivor was chosen that does not serve alone yet.
func (s State) Forcing() bool {
	return s.Recovery != nil && s.Recovery.Step == v1beta2.RecoveryForcing
}

// Overruled says whether an EtcdRestore was made since, which continues from a snapshot instead.
func Overruled(s State) bool {
	return RestoreStep(s) == v1beta2.RestoreSeeding || s.Switching() || (s.Request != nil && !s.Requested() && !tooNew(s, s.Request.StorageVersion))
}

// LastRecovery is the last one whose survivor has served alone; nil if the status has none. One that has only begun has changed nothing yet, so the one
// before it counts.
func LastRecovery(s State) *v1beta2.EarlierRecovery {
	if r := s.Recovery; r != nil && r.Step == v1beta2.RecoveryForcing {
		return r.Earlier
	}
	return AsEarlier(s.Recovery)
}

// mayBeForced reports whether the data of a member may be a cluster of its own.
func mayBeForced(s State, m Member) bool { return cancelledFrom(s, m) != nil }

// cancelledFrom returns the last cancelled recovery whose survivor has the data of a member, and nil for none. A new claim for the same
// PersistentVolume has the same data. A learner of a quorum is a new member, which has its data from the others.
func cancelledFrom(s State, m Member) *v1beta2.CancelledSurvivor {
	if ServesIn(s, m) || s.MembershipKnown && m.InMembership && m.Learner {
		return nil
	}
	for i := len(s.CancelledSurvivors) - 1; i >= 0; i-- {
		c := s.CancelledSurvivors[i]
		same := c.VolumeName != "" && c.VolumeName == m.VolumeID.Volume
		if c.Member == m.Name && (same || !m.VolumeCreated.After(c.StartedAt.Time)) {
			return &c
		}
	}
	return nil
}

// ServesIn reports whether a member serves as a voter of the membership. Then its data is that of the cluster.
func ServesIn(s State, m Member) bool {
	return s.MembershipKnown && m.InMembership && m.Serving && !m.Learner
}

// MarkIsNewer reports whether the mark on a volume is of a recovery that the status does not have, because it is lost or from before. Then the voters of
// the status are those from before, too.
func MarkIsNewer(s State, m Member) bool {
	knows := func(started *metav1.Time) bool { return started != nil && !started.Time.Before(m.RecoveredAt) }
	switch {
	case !m.Recovered || m.RecoveredAt.IsZero():
		return false
	case s.Recovery != nil && s.Forcing() && s.Recovery.ForcedAt == nil && s.Recovery.StartedAt != nil && s.Recovery.StartedAt.Time.Equal(m.RecoveredAt):
		return true // the status is from before the volumes were marked
	case s.Recovery != nil && (knows(s.Recovery.StartedAt) || s.Recovery.Earlier != nil && knows(s.Recovery.Earlier.StartedAt)):
		return false
	}
	return s.LastRecovery == nil || !knows(&s.LastRecovery.StartedAt)
}

// isKnown reports whether a member without a quorum says that a marked one belongs to its membership. Then the recovery that set the mark was not
// carried out.
func isKnown(s State, marked Member) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.Name != marked.Name && !m.Recovered && slices.ContainsFunc(m.Knows, func(known etcd.Member) bool {
			return known.Name == marked.Name || slices.Contains(known.PeerURLs, PeerURL(s, marked.Name))
		})
	})
}

// RestoreStep returns the step of the restore; empty without one.
func RestoreStep(s State) v1beta2.RestoreStep {
	if s.Restore == nil {
		return ""
	}
	return s.Restore.Step
}

// Restoring says whether a restore is under way.
func (s State) Restoring() bool {
	switch RestoreStep(s) {
	case v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing:
		return true
	}
	return false
}

func (s State) Switching() bool { return RestoreStep(s) == v1beta2.RestoreSwitching }

// CannotRead returns why the cluster does not take up a verified restore; empty if it does.
func CannotRead(s State, r RestoreRequest) string {
	if !tooNew(s, r.StorageVersion) {
		return ""
	}
	return fmt.Sprintf("The cluster does not start EtcdRestore %s: its snapshot has the format of etcd %s, and spec.version is %s. The cluster was not changed. "+
		"Set spec.version to a release of etcd that reads the snapshot, for example %s.0, or delete the EtcdRestore.", r.Name, r.StorageVersion, s.Spec.EtcdVersion(), Minor(r.StorageVersion))
}

// Requested reports whether the restore that was taken up last is still asked for.
func (s State) Requested() bool {
	return s.Request != nil && s.Restore != nil && s.Request.UID == s.Restore.UID
}

// Cancelled reports whether the restore under way was deleted or has ended. One that has lost its status is verified again.
func Cancelled(s State) bool { return !s.Requested() && !s.RestoreUnverified }

// NotRequested says why the restore under way is not asked for any more.
func NotRequested(s State) string {
	switch {
	case s.RestoreFailed:
		return "EtcdRestore " + s.Restore.Name + " has failed."
	case s.RestoreUnverified:
		return "EtcdRestore " + s.Restore.Name + " has lost its status."
	}
	return "EtcdRestore " + s.Restore.Name + " was deleted."
}

// SeedMember is the first member of the incarnation that a restore makes; false when nothing of it is there yet.
func SeedMember(s State) (Member, bool) { return SeedOf(s, s.Restore.Incarnation) }

// SeedOf is the first member of an incarnation; false if nothing of it is there.
func SeedOf(s State, incarnation int32) (Member, bool) {
	name := MemberName(s.Name, s.UID, incarnation, 0)
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{Name: name, Incarnation: incarnation}, false
}

// CreationTime returns when the EtcdRestore was created, or nil if that is not known.
func (r RestoreRequest) CreationTime() *metav1.Time {
	if r.Created.IsZero() {
		return nil
	}
	return &r.Created
}

// AwaitsSafetySnapshot says that the switch waits for the safety snapshot.
const AwaitsSafetySnapshot = "The seed serves the snapshot. Before the switch, restore-operator saves the present data. The members continue to serve."

// AwaitsSafety says what restore-operator does, and whether the members take writes.
func AwaitsSafety(s State) string {
	if WantsExact(s) {
		return AwaitsExactSnapshot
	}
	return AwaitsSafetySnapshot
}

// AwaitsExactSnapshot says that the old members are fenced until their data is saved.
const AwaitsExactSnapshot = "The old members refuse writes while restore-operator saves their data exactly. Then the seed takes over."

// WantsExact reports whether the seed must not take over before the safety snapshot has every acknowledged write. The status has it, too, because the
// EtcdRestore may be deleted behind the fence.
func WantsExact(s State) bool {
	exact := s.Restore != nil && s.Restore.SafetySnapshotPolicy == v1beta2.SafetySnapshotExact
	if s.Requested() { // and not of another EtcdRestore, which waits
		exact = s.Request.Safety == v1beta2.SafetySnapshotExact
	}
	return exact && s.Formed()
}

// MadeBy is the UID of the EtcdRestore that made the incarnation; empty for one that was bootstrapped. The client
// Service still knows when the status tells of a later restore.
func MadeBy(s State) types.UID {
	switch {
	case !s.Formed():
		return ""
	case s.Restore != nil && s.Restore.Incarnation == s.Incarnation && RestoreStep(s) != v1beta2.RestoreFailed:
		return s.Restore.UID
	case s.Services.ClientIncarnation == s.Incarnation:
		return s.Services.ClientRestoreUID
	}
	return ""
}

// AsEarlier is what another recovery keeps of the one before it, nil for none.
func AsEarlier(r *v1beta2.ClusterRecoveryStatus) *v1beta2.EarlierRecovery {
	if r == nil || r.Step == v1beta2.RecoveryForcing {
		return nil
	}
	return &v1beta2.EarlierRecovery{Step: r.Step, Member: r.Member, Revision: r.Revision, Voters: slices.Clone(r.Voters), StartedAt: r.StartedAt.DeepCopy()}
}

// TooLate says that the end of the EtcdRestore after the switch had begun undid nothing.
func TooLate(s State) string {
	if s.Restore == nil || !Cancelled(s) {
		return ""
	}
	return " " + NotRequested(s) + " That was after the switch had begun, too late to undo it."
}
