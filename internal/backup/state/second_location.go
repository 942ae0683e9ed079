package state

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// ArchiveCopied returns whether the archive is to be copied to the second location. A copy needs neither the cluster nor a running archiver. It begins when
// the first snapshot was copied: before that, nothing of the archive could be restored there, and the two locations may be one.
func ArchiveCopied(s State) bool {
	c := s.Status.Copies
	switch {
	case s.Spec.Continuous == nil || s.Spec.CopyTo == nil || !s.Series() || s.Deleting:
		return false
	case s.Problem != nil || s.Refused != nil || s.CopyProblem != nil:
		return false
	case s.Spec.DeletionPolicy == v1beta2.DeletionDelete && !s.Held:
		return false
	case c == nil || c.Newest == nil || !copiedHere(s, c.Newest.Path):
		return false
	}
	copied := ConditionOf(s.Status.Conditions, v1beta2.ConditionCopied)
	return copied == nil || copied.Reason != v1beta2.ReasonInvalidSpec
}

// CopyPrunes returns whether old parts of the copied archive may be deleted: the last copy of a snapshot has succeeded for this spec. It has compared both
// locations, so they are not one store under two names.
func CopyPrunes(s State) bool {
	copied := ConditionOf(s.Status.Conditions, v1beta2.ConditionCopied)
	c := s.Status.Copies
	return copied != nil && copied.Status == metav1.ConditionTrue && copied.ObservedGeneration == s.Generation && c != nil && c.ObservedGeneration == s.Generation
}

// CopyMoved returns whether the copies that the status reports are not in the second location of the spec.
func CopyMoved(s State) bool {
	c := s.Status.Copies
	return s.CopyProblem == nil && s.Problem == nil && c != nil && c.Newest != nil && !copiedHere(s, c.Newest.Path)
}

// copiedHere reports whether a path of a copied snapshot is in the second location of the spec.
func copiedHere(s State, path string) bool {
	return source.PresentOf(s.CopyTarget, s.Namespace, s.Name, s.Spec).InSeries(path)
}
