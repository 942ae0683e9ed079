package state

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// NewState is what the EtcdCluster itself says; what Kubernetes holds and etcd answers is added to it.
func NewState(cluster *v1beta2.EtcdCluster) State {
	s := State{
		Namespace:    cluster.Namespace,
		Name:         cluster.Name,
		UID:          cluster.UID,
		Spec:         *cluster.Spec.DeepCopy(),
		Deleting:     !cluster.DeletionTimestamp.IsZero(),
		ClusterID:    cluster.Status.ClusterID,
		Incarnation:  cluster.Status.Incarnation,
		Restore:      cluster.Status.Restore.DeepCopy(),
		Recovery:     cluster.Status.Recovery.DeepCopy(),
		LastRecovery: cluster.Status.LastRecovery.DeepCopy(),

		CancelledSurvivors: slices.Clone(cluster.Status.CancelledSurvivors),
		PastRestores:       slices.Clone(WithEarlier(cluster.Status.PastRestores, cluster.Status.Restore, time.Time{})),
		KnownVersion:       cluster.Status.CurrentVersion,

		VersionChange: cluster.Status.VersionChange.DeepCopy(),
		PodFailures:   slices.Clone(cluster.Status.PodFailures),

		Space:           cluster.Status.Space.DeepCopy(),
		Defragmentation: cluster.Status.Defragmentation.DeepCopy(),
		Defragmented:    Defragmented(cluster.Status.MemberStatuses),
	}
	s.Promoting, s.ForeignMembers, s.Asked = cluster.Status.PromotingMember, knownForeign(cluster.Status), NewAsked(cluster.Annotations)
	if auth := cluster.Status.Auth; auth != nil {
		s.AccountRecord = *auth.DeepCopy()
	}
	s.RequestedUsers = slices.Clone(cluster.Status.UserCertificates)
	s.Removing, s.KnownIDs = cluster.Status.RemovingMember, KnownIDs(cluster.Status)
	s.KnownVolumes, s.Accused = knownVolumes(cluster.Status), AccusedIn(cluster.Status)
	s.LearnerFailures = cluster.Status.LearnerFailures
	if s.Restore != nil && s.Restore.SeedReadyTime != nil {
		s.SeedReadySince = s.Restore.SeedReadyTime.Time
	}
	if at := cluster.Status.LearnerFailedAt; at != nil {
		s.LearnerFailedAt = at.Time
	}
	for _, m := range cluster.Status.MemberStatuses {
		s.KnownDBSize = max(s.KnownDBSize, m.DBSize)
		if m.Role == v1beta2.MemberLeader || m.Role == v1beta2.MemberVoter {
			s.KnownVoters = append(s.KnownVoters, m.Name)
		}
		if m.Role == v1beta2.MemberLearner {
			s.KnownLearners = append(s.KnownLearners, m.Name)
		}
	}
	if s.Promoting != "" && len(s.KnownVoters) > 0 && !slices.Contains(s.KnownVoters, s.Promoting) {
		s.KnownVoters = append(s.KnownVoters, s.Promoting)
	}
	return s
}

// AccusedIn reads which members the CORRUPT alarms named. What is no ID names none.
func AccusedIn(status v1beta2.EtcdClusterStatus) []etcd.ID {
	var ids []etcd.ID
	for _, text := range status.AccusedMembers {
		if id, err := etcd.ParseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
