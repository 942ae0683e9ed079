package status

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// recordProof records the result of a proof of the archive. It does nothing if p is nil.
func (r tests) recordProof(p *v1beta2.ArchiveProof) {
	if p == nil {
		return
	}
	result := *p
	result.Time = *state.Second(p.Time.Time)
	r.out.LastArchiveProof = &result
}

// failArchive makes Ready false while the last proof of the archive has failed.
func (r tests) failArchive() {
	if r.s.Spec.Continuous == nil {
		r.out.LastArchiveProof = nil
		return
	}
	if r.s.Problem != nil {
		return // the location is not known
	}
	if p := state.LastProof(r.written()); p != r.out.LastArchiveProof {
		r.out.LastArchiveProof = nil
		r.recordProof(p)
	}
	p := r.out.LastArchiveProof
	if p != nil && p.Result == v1beta2.ProofFailed && r.Is(v1beta2.ConditionReady) {
		r.False(v1beta2.ConditionReady, v1beta2.ReasonArchiveCorrupt, plan.Disproven(*p))
	}
}
