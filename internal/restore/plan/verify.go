package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

type (
	// Verify starts to read the source, or the snapshot below it that Choice selects.
	Verify struct {
		Source v1beta2.RestoreSource
		Choice source.Choice
		// Point is what else is needed for a point of a continuous archive. It is nil for a snapshot.
		Point *PointOrder
	}
	// Verifying lets the reading of the source continue. Queued is true if it has not begun, because the operator reads other
	// snapshots.
	Verifying struct {
		Percent int32
		Queued  bool
	}
	// Accept stores the verified snapshot in the status. From then on cluster-operator may restore it.
	Accept struct {
		Source v1beta2.RestoreSource
		// ChosenBecause explains why this snapshot was chosen. It is empty if the spec names the snapshot.
		ChosenBecause string
		Snapshot      v1beta2.Snapshot
		// Point is what Snapshot was made of. It is nil for a snapshot of a cluster.
		Point *v1beta2.PointInTimeStatus
		// SignedURL is how the seed reads Source. It is nil if the seed opens the store with the same Secret.
		SignedURL *v1beta2.SignedURLStatus
	}
)

// progressInterval is how often the status shows the progress of a reading.
const progressInterval = 2 * time.Second

func (Verify) describe(s State) planning.Description {
	return s.reading(s.Restore.Status.Attempts + 1)
}

func (v Verifying) describe(s State) planning.Description {
	d := s.reading(s.Restore.Status.Attempts)
	if v.Queued && !s.retries(s.Restore.Status.Attempts) {
		d.Reason, d.Message = v1beta2.ReasonQueued, queuedForReading
	}
	if v.Queued {
		d.Requeue = time.Minute // the worker that begins to read starts a pass
	}
	return d
}

// queuedForReading is the message while the operator reads the snapshots of other EtcdRestores.
const queuedForReading = "The snapshot is not read yet, because the operator reads the snapshots of other EtcdRestores. It limits how many it reads at the same time, in total and of one namespace. The cluster is not changed."

func (Accept) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeNormal, planning.Description{
		Reason:  v1beta2.ReasonVerified,
		Message: "The snapshot is verified. EtcdCluster " + s.Restore.Spec.EtcdCluster.Name + " can be restored from it.",
	})
}

// reading describes one attempt to read the source. A retry keeps the reason and the message of the failed attempt
// until it has ended, because they are the latest result.
func (s State) reading(attempt int32) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonVerifying,
		Message: "The operator is reading and verifying the snapshot. It does not change the cluster.",
		Requeue: progressInterval,
	}
	if s.retries(attempt) {
		d.Reason, d.Message = s.readyReason(), s.readyMessage()
	}
	return s.announced(corev1.EventTypeNormal, d)
}

// retries returns whether the attempt follows a failed one that the status reports.
func (s State) retries(attempt int32) bool {
	return attempt > 1 && s.ready() != nil && s.Restore.Status.Reason != ""
}

// snapshotIsNotVerified reads the source until it is verified, or can never be.
func snapshotIsNotVerified(s State) Step {
	if s.Proven() {
		return nil
	}
	wanted, none := s.wanted()
	if none != nil {
		return none
	}
	wanted.Point = s.pointOrder(wanted.Choice)
	switch s.Proof.Progress {
	case ProofQueued:
		return Verifying{Queued: true}
	case ProofRunning:
		return Verifying{Percent: s.Proof.Percent}
	case ProofDone:
		return accept(s)
	case ProofFailed:
		return retry(s, wanted)
	}
	return wanted
}

func accept(s State) Step {
	if fail := s.tooNew(s.Proof.Snapshot.Path, s.Proof.Format); fail != nil {
		return fail
	}
	if fail := s.tooSmall(s.Proof.Snapshot); fail != nil {
		return fail
	}
	if s.Restore.Spec.DryRun {
		return Proved{ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point}
	}
	return Accept{Source: s.Proof.Source, ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point, SignedURL: s.Proof.SignedURL}
}

// retry reads the source again after a pause that grows, unless the failure is final. If the spec selects another
// source now, the operator reads that one at once.
func retry(s State, wanted Verify) Step {
	if s.Proof.Asked != wanted.Source || s.Proof.Choice != wanted.Choice {
		return wanted
	}
	if s.Proof.Final {
		return Fail{Reason: s.Proof.Reason, Message: s.Proof.Message}
	}
	next := s.Proof.Ended.Add(backoff(s.Restore.Status.Attempts))
	if !s.Now.Before(next) {
		return wanted
	}
	return Wait{
		Reason:  s.Proof.Reason,
		Message: s.Proof.Message + " The next attempt is at " + next.UTC().Format(time.RFC3339) + ".",
		Failure: true,
		Requeue: next.Sub(s.Now),
	}
}

const (
	firstBackoff = 5 * time.Second
	lastBackoff  = 5 * time.Minute
)

// backoff returns the pause after that many attempts: 5 s, doubled after each attempt, at most 5 min.
func backoff(attempts int32) time.Duration {
	pause := firstBackoff
	for ; attempts > 1 && pause < lastBackoff; attempts-- {
		pause *= 2
	}
	return min(pause, lastBackoff)
}
