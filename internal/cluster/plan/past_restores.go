package plan

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// An earlier release recorded neither which restores were carried out, nor what they restored. An EtcdRestore that is
// created again after an upgrade of the operator must not roll the cluster back, so the record is completed.

// withEarlier adds the restore that took over under a release that recorded none.
func withEarlier(past []v1beta2.PastRestore, last *v1beta2.ClusterRestoreStatus, now time.Time) []v1beta2.PastRestore {
	tookOver := last != nil && (last.Step == v1beta2.RestoreGrowing || last.Step == v1beta2.RestoreComplete)
	if !tookOver || last.Name == "" || slices.ContainsFunc(past, func(p v1beta2.PastRestore) bool { return p.UID == last.UID }) {
		return past
	}
	return append(slices.Clone(past), v1beta2.PastRestore{
		Name: last.Name, UID: last.UID, CreationTime: last.CreationTime, SpecHash: last.SpecHash, Time: metav1.NewTime(now), ClusterID: last.ClusterID, SafetySnapshot: last.SafetySnapshot,
	})
}

// learn completes the record of restores with what their EtcdRestores show, while these exist. If the status was lost, the client Service tells only the
// UID of the one that made the incarnation, and without its name and its time an older one would replace its data.
func (s *State) learn(restores []v1beta2.EtcdRestore) {
	for i := range restores {
		restore := &restores[i]
		if restore.Spec.EtcdCluster.Name != s.Name {
			continue
		}
		if s.Restore != nil && s.Restore.UID == restore.UID && (s.Restore.SpecHash == "" || s.Restore.Name == "" || s.Restore.CreationTime == nil) {
			s.Restore = s.Restore.DeepCopy()
			s.Restore.SpecHash, s.Restore.Name = cmp.Or(s.Restore.SpecHash, restore.Spec.Hash()), restore.Name
			s.Restore.CreationTime = cmp.Or(s.Restore.CreationTime, restore.CreationTimestamp.DeepCopy())
		}
		for i := range s.PastRestores {
			if p := &s.PastRestores[i]; p.UID == restore.UID && p.SpecHash == "" {
				p.SpecHash = restore.Spec.Hash()
			}
		}
	}
	s.PastRestores = withEarlier(s.PastRestores, s.Restore, time.Time{})
}

// pastRestores is the completed record of the restores that the status had before.
func (s State) pastRestores(before []v1beta2.PastRestore) []v1beta2.PastRestore {
	past := slices.Clone(before)
	for i := range past {
		for _, p := range s.PastRestores {
			if p.UID == past[i].UID && past[i].SpecHash == "" {
				past[i].SpecHash = p.SpecHash
			}
		}
	}
	past = withEarlier(past, s.Restore, s.Now)
	return past[max(0, len(past)-v1beta2.MaxPastRestores):]
}
