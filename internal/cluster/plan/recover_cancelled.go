package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A recovery can be cancelled after its survivor may have started with --force-new-cluster, for example because the volume of the survivor is lost.
// If that volume comes back, its data may be a cluster of its own, with the same ID as the cluster of the others. So the status keeps which members these
// are, until they serve. A person can accept their claims.

// mayBeForced reports whether the data of a member may be a cluster of its own.
func (s State) mayBeForced(m Member) bool { return s.cancelledFrom(m) != nil }

// cancelledFrom returns the last cancelled recovery whose survivor has the data of a member, and nil for none. A new claim for the same
// PersistentVolume has the same data. A learner of a quorum is a new member, which has its data from the others.
func (s State) cancelledFrom(m Member) *v1beta2.CancelledSurvivor {
	if s.servesIn(m) || s.MembershipKnown && m.InMembership && m.Learner {
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

// servesIn reports whether a member serves as a voter of the membership. Then its data is that of the cluster.
func (s State) servesIn(m Member) bool {
	return s.MembershipKnown && m.InMembership && m.Serving && !m.Learner
}

// noteSurvivor keeps the survivor of a recovery that is cancelled. One that serves, or knows other members, was never restarted alone.
func noteSurvivor(status *v1beta2.EtcdClusterStatus, s State) {
	r := status.Recovery
	survivor, _ := s.member(r.Member)
	if r.StartedAt == nil || s.servesIn(survivor) || s.knowsOthers(survivor) {
		return
	}
	id, known := s.servedOn(survivor)
	if !known {
		id = survivor.VolumeID
	}
	all := append(slices.Clone(status.CancelledSurvivors), v1beta2.CancelledSurvivor{Member: r.Member, VolumeName: id.Volume, StartedAt: metav1.NewTime(r.StartedAt.Time)})
	status.CancelledSurvivors = all[max(0, len(all)-v1beta2.MaxCancelledSurvivors):]
}

// forgetSurvivors forgets those that serve.
func forgetSurvivors(status *v1beta2.EtcdClusterStatus, s State) {
	status.CancelledSurvivors = slices.DeleteFunc(slices.Clone(status.CancelledSurvivors), func(c v1beta2.CancelledSurvivor) bool {
		m, _ := s.member(c.Member)
		return s.servesIn(m)
	})
}
