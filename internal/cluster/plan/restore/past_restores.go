package restore

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// An earlier release recorded neither which restores were carried out, nor what they restored. An EtcdRestore that is
// created again after an upgrade of the operator must not roll the cluster back, so the record is completed.

// learnLast completes the restore that made the incarnation.
func learnLast(s *state.State, restore *v1beta2.EtcdRestore) {
	if s.Restore == nil || s.Restore.UID != restore.UID || s.Restore.SpecHash != "" && s.Restore.Name != "" && s.Restore.CreationTime != nil {
		return
	}
	s.Restore = s.Restore.DeepCopy()
	s.Restore.SpecHash, s.Restore.Name = cmp.Or(s.Restore.SpecHash, restore.Spec.Hash()), restore.Name
	s.Restore.CreationTime = cmp.Or(s.Restore.CreationTime, restore.CreationTimestamp.DeepCopy())
}

// PastRestores is the completed record of the restores that the status had before, with those that were learned.
func PastRestores(s state.State, before []v1beta2.PastRestore) []v1beta2.PastRestore {
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
