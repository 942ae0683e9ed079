package state

import (
	"cmp"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

// ProofWanted returns whether the newest snapshot has an earlier one in its range, and the archive was not proven up to it. A proof that
// failed counts until there is another snapshot.
func ProofWanted(s State) bool {
	a, newest := s.Archive, s.Recorded()
	if !s.Archived() || newest == nil || a == nil || !a.Begun || !a.Surveyed || len(a.Ranges) == 0 {
		return false
	}
	if d := s.Status.LastDrill; d != nil && d.Result == v1beta2.DrillFailed && d.Path == newest.Path && s.Status.DrillAttempts == 0 {
		return false // there is nothing to compare with, and the store has the result
	}
	last := a.Ranges[len(a.Ranges)-1]
	proven := LastProof(s)
	covered := last.From.Revision < newest.Revision && newest.Revision <= last.To.Revision
	return covered && (proven == nil || proven.To != newest.Path)
}

// LastProof returns the last proof of the archive in the location of the spec. If the status was lost, or an older one came back, it is that of the
// store. A time that is ahead comes from a wrong clock, so it is not later than any other: else each later proof would be repeated at once.
func LastProof(s State) *v1beta2.ArchiveProof {
	reported := reportedProof(s)
	if a := s.Archive; a != nil && a.Proof != nil && (reported == nil || provenAt(s, a.Proof).After(provenAt(s, reported))) {
		return a.Proof
	}
	return reported
}

// provenAt returns when a proof ended, with the precision of the status. The store has fractions of a second, so an earlier proof of the same second
// would count as later than the one in the status, and the operator would repeat that one.
func provenAt(s State, p *v1beta2.ArchiveProof) time.Time {
	return clock.Done(p.Time.Time, s.Now).Truncate(time.Second)
}

// reportedProof returns the proof that the status reports if it is of the location of the spec, and nil if it is not. The path of its base decides, or that
// of the snapshot up to which it reaches. A proof without both counts.
func reportedProof(s State) *v1beta2.ArchiveProof {
	p := s.Status.LastArchiveProof
	if p == nil || !s.Here(cmp.Or(p.From, p.To)) {
		return nil
	}
	return p
}

// Distrusted returns the last proof of the archive if it failed.
func Distrusted(s State) *v1beta2.ArchiveProof {
	if p := LastProof(s); p != nil && p.Result == v1beta2.ProofFailed && s.Spec.Continuous != nil {
		return p
	}
	return nil
}
