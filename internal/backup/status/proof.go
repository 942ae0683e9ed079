package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// proved records the result of a proof of the archive. It does nothing if p is nil.
func (r *reporter) proved(p *v1beta2.ArchiveProof) {
	if p == nil {
		return
	}
	result := *p
	result.Time = *state.Second(p.Time.Time)
	r.out.LastArchiveProof = &result
}

// failDisprovenArchive makes Ready false while the last proof of the archive has failed.
func (r *reporter) failDisprovenArchive() {
	if r.s.Spec.Continuous == nil {
		r.out.LastArchiveProof = nil
		return
	}
	s := r.s
	if s.Problem != nil {
		return // the location is not known
	}
	s.Status = r.out
	if p := s.Proof(); p != r.out.LastArchiveProof {
		r.out.LastArchiveProof = nil
		r.proved(p)
	}
	p := r.out.LastArchiveProof
	if p != nil && p.Result == v1beta2.ProofFailed && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonArchiveCorrupt, plan.Disproven(*p))
	}
}
