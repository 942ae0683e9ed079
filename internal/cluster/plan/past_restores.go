package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// An earlier release recorded neither which restores were carried out, nor what they restored. An EtcdRestore that is
// created again after an upgrade of the operator must not roll the cluster back, so the record is completed.

// learn completes the record of restores with what their EtcdRestores show, while these exist. If the status was lost, the client Service tells only the
// UID of the one that made the incarnation, and without its name and its time an older one would replace its data.
//
// In that case each complete EtcdRestore of the cluster counts as carried out. If the object of the last one is gone, all that are older than now are
// refused.
func learn(s *state.State, restores []v1beta2.EtcdRestore) {
	lost := s.Restore != nil && s.Restore.Name == ""
	for i := range restores {
		restore := &restores[i]
		if restore.Spec.EtcdCluster.Name != s.Name {
			continue
		}
		s.Restores = append(s.Restores, restore.UID)
		learnLast(s, restore)
		at := slices.IndexFunc(s.PastRestores, func(p v1beta2.PastRestore) bool { return p.UID == restore.UID })
		switch {
		case at >= 0:
			p := &s.PastRestores[at]
			p.Name, p.SpecHash, p.CreationTime = restore.Name, cmp.Or(p.SpecHash, restore.Spec.Hash()), cmp.Or(p.CreationTime, restore.CreationTimestamp.DeepCopy())
		case lost && isTrue(restore, v1beta2.ConditionComplete) && !restore.Spec.DryRun && len(restore.Spec.Prefixes) == 0:
			s.PastRestores = append(s.PastRestores, v1beta2.PastRestore{
				Name: restore.Name, UID: restore.UID, CreationTime: restore.CreationTimestamp.DeepCopy(), SpecHash: restore.Spec.Hash(),
				Time: metav1.NewTime(s.Now), ClusterID: restore.Status.ClusterID,
			})
		}
	}
	s.PastRestores = state.WithEarlier(s.PastRestores, s.Restore, s.Now)
	if s.Restore != nil && s.Restore.Name == "" { // the next pass does not learn again
		s.Restore = s.Restore.DeepCopy()
		s.Restore.Name = string(s.Restore.UID)
	}
}

// learnLast completes the restore that made the incarnation.
func learnLast(s *state.State, restore *v1beta2.EtcdRestore) {
	if s.Restore == nil || s.Restore.UID != restore.UID || s.Restore.SpecHash != "" && s.Restore.Name != "" && s.Restore.CreationTime != nil {
		return
	}
	s.Restore = s.Restore.DeepCopy()
	s.Restore.SpecHash, s.Restore.Name = cmp.Or(s.Restore.SpecHash, restore.Spec.Hash()), restore.Name
	s.Restore.CreationTime = cmp.Or(s.Restore.CreationTime, restore.CreationTimestamp.DeepCopy())
}

// pastRestores is the completed record of the restores that the status had before, with those that were learned.
func pastRestores(s state.State, before []v1beta2.PastRestore) []v1beta2.PastRestore {
	past := slices.Clone(before)
	for _, p := range s.PastRestores {
		at := slices.IndexFunc(past, func(known v1beta2.PastRestore) bool { return known.UID == p.UID })
		switch {
		case at < 0:
			if p.Time.IsZero() {
				p.Time = metav1.NewTime(s.Now)
			}
			past = append(past, p)
		case past[at].SpecHash == "":
			past[at].Name, past[at].SpecHash, past[at].CreationTime = p.Name, p.SpecHash, cmp.Or(past[at].CreationTime, p.CreationTime)
		}
	}
	past = state.WithEarlier(past, s.Restore, s.Now)
	slices.SortStableFunc(past, byTime)
	return past[max(0, len(past)-v1beta2.MaxPastRestores):]
}

// byTime sorts the record, the oldest first. Those that were learned at the same time are sorted by when they were created. One whose object is gone
// comes last, because it may be the newest.
func byTime(a, b v1beta2.PastRestore) int {
	if at := a.Time.Compare(b.Time.Time); at != 0 || a.CreationTime == nil && b.CreationTime == nil {
		return at
	}
	switch {
	case a.CreationTime == nil:
		return 1
	case b.CreationTime == nil:
		return -1
	}
	return a.CreationTime.Compare(b.CreationTime.Time)
}
