package backup

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// proofWanted returns whether the newest snapshot has an earlier one in its range, and the archive was not proven up to it. A proof that
// failed counts until there is another snapshot.
func (s State) proofWanted() bool {
	a, newest := s.Archive, s.recorded()
	if !s.archived() || newest == nil || a == nil || !a.Begun || !a.Surveyed || len(a.Ranges) == 0 {
		return false
	}
	if d := s.Status.LastDrill; d != nil && d.Result == v1beta2.DrillFailed && d.Path == newest.Path {
		return false // there is nothing to compare with
	}
	last := a.Ranges[len(a.Ranges)-1]
	proven := s.proof()
	covered := last.From.Revision < newest.Revision && newest.Revision <= last.To.Revision
	return covered && (proven == nil || proven.To != newest.Path)
}

// proof returns the last proof of the archive in the location of the spec. If the status was lost, or an older one came back, it is that of the
// store. A time that is ahead comes from a wrong clock, so it is not later than any other: else each later proof would be repeated at once.
func (s State) proof() *v1beta2.ArchiveProof {
	told := s.toldProof(s.Status.LastArchiveProof)
	if a := s.Archive; a != nil && a.Proof != nil && (told == nil || clock.Done(a.Proof.Time.Time, s.Now).After(clock.Done(told.Time.Time, s.Now))) {
		return a.Proof
	}
	return told
}

// toldProof returns a proof that the status reports if it is of the location of the spec, and nil if it is not. The path of its base decides, or that
// of the snapshot up to which it reaches. A proof without both counts.
func (s State) toldProof(p *v1beta2.ArchiveProof) *v1beta2.ArchiveProof {
	if p == nil || !s.here(cmp.Or(p.From, p.To)) {
		return nil
	}
	return p
}

// here reports whether a path that the status reports is of what the spec saves now. An empty one counts.
func (s State) here(path string) bool { return path == "" || s.present().Has(s.Status, path) }

// distrusted returns the last proof of the archive if it failed.
func (s State) distrusted() *v1beta2.ArchiveProof {
	if p := s.proof(); p != nil && p.Result == v1beta2.ProofFailed && s.Spec.Continuous != nil {
		return p
	}
	return nil
}

// testTurn returns when the next restore test is due: by its schedule, or for the proof of the archive after each snapshot. It is zero if
// none ever is.
func (s State) testTurn() time.Time {
	at := s.drillTurn()
	if !s.proofWanted() {
		return at
	}
	due := s.Now
	if next := s.Status.NextDrillTime; !s.fresh() && s.Status.DrillAttempts > 0 && next != nil && !clock.Ahead(next.Time, s.Now.Add(lastTestDelay)) {
		due = next.Time
	}
	if at.IsZero() || due.Before(at) {
		return due
	}
	return at
}

// proved records the result of a proof of the archive. It does nothing if p is nil.
func (r *reporter) proved(p *v1beta2.ArchiveProof) {
	if p == nil {
		return
	}
	result := *p
	result.Time = *second(p.Time.Time)
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
	if p := s.proof(); p != r.out.LastArchiveProof {
		r.out.LastArchiveProof = nil
		r.proved(p)
	}
	p := r.out.LastArchiveProof
	if p != nil && p.Result == v1beta2.ProofFailed && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonArchiveCorrupt, disproven(*p))
	}
}

// provedEvent returns the event of a proof.
func provedEvent(p v1beta2.ArchiveProof) planning.Event {
	if p.Result == v1beta2.ProofPassed {
		return newEvent(corev1.EventTypeNormal, "ArchiveProven", actionArchive, "The continuous archive is proven up to snapshot "+p.To+". "+p.Message)
	}
	return newEvent(corev1.EventTypeWarning, "ArchiveDisproven", actionArchive, disproven(p))
}
