package plan

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

type (
	// Verify starts to read the source, or the snapshot below it that Choice selects.
	Verify struct {
		Source v1beta2.RestoreSource
		Choice source.Choice
		// Signers, of which one must have signed the snapshot.
		Signers snapshot.Signers
		// Point is what else is needed for a point of a continuous archive. It is nil for a snapshot.
		Point *PointOrder
		// Keys to compare with the snapshot. It is nil if the whole cluster is restored.
		Keys *KeysOrder
	}
	// Verifying lets the reading of the source continue. Queued is true if it has not begun, because the operator reads other
	// snapshots. Waits is for what it waits, and why.
	Verifying struct {
		Percent int32
		Queued  bool
		Waits   string
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
		// Keys is the comparison of the keys below prefixes. It is nil if the whole cluster is restored.
		Keys *v1beta2.PrefixesStatus
	}
)

// progressInterval is how often the status shows the progress of a reading.
const progressInterval = 2 * time.Second

func (Verify) describe(s State) planning.Description {
	return s.reading(s.Restore.Status.Attempts + 1)
}

func (v Verifying) describe(s State) planning.Description {
	d := s.reading(s.Restore.Status.Attempts)
	first := !s.retries(s.Restore.Status.Attempts)
	switch {
	case v.Queued && first:
		d.Reason, d.Message = v1beta2.ReasonQueued, fmt.Sprintf(queuedForReading, cmp.Or(v.Waits, "namespaces take turns"))
	case v.Waits != "" && first:
		d.Reason, d.Message = v1beta2.ReasonQueued, "The operator waits for "+v.Waits+". It does not change the cluster."
	}
	if v.Queued {
		d.Requeue = time.Minute // the worker that begins to read starts a pass
	}
	return d
}

// queuedForReading is the message while the operator reads the snapshots of other EtcdRestores.
const queuedForReading = "The snapshot is not read yet, because the operator reads the snapshots of other EtcdRestores: %s. The cluster is not changed."

func (a Accept) describe(s State) planning.Description {
	if a.Keys != nil {
		return s.announced(corev1.EventTypeNormal, planning.Description{
			Reason:  v1beta2.ReasonVerified,
			Message: fmt.Sprintf("The snapshot is verified. Its keys below %s are compared with EtcdCluster %s: %s.", s.prefixes(), s.Restore.Spec.EtcdCluster.Name, Differences(*a.Keys)),
		})
	}
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
	if none := s.require(&wanted); none != nil {
		return none
	}
	wanted.Point, wanted.Keys = s.pointOrder(wanted.Choice), s.keysOrder()
	switch s.Proof.Progress {
	case ProofQueued:
		return Verifying{Queued: true, Waits: s.Proof.Waits}
	case ProofRunning:
		return Verifying{Percent: s.Proof.Percent, Waits: s.Proof.Waits}
	case ProofDone:
		return accept(s, wanted)
	case ProofFailed:
		return retry(s, wanted)
	}
	if next := s.afterInterruption(); next != nil {
		return next
	}
	return wanted
}

// changed fails a restore if the EtcdBackup recorded another SHA-256 of the snapshot. Who can write to the bucket can replace an object
// together with its manifest, and cannot write the status. A status that has no whole SHA-256 says nothing.
func (s State) changed(read v1beta2.Snapshot) Step {
	if s.Restore.Spec.EtcdBackup == nil || s.Backup == nil {
		return nil
	}
	if now, problem := s.location(); problem == nil && !now.IsStoreOf(s.Backup.Status) {
		return nil // another store has other objects at the same path
	}
	recorded := s.Backup.Status.Snapshots
	if newest := s.Backup.Status.Snapshot; newest != nil {
		recorded = append([]v1beta2.Snapshot{*newest}, recorded...)
	}
	for _, known := range recorded {
		if known.Path == read.Path && snapshot.Replaced(known.SHA256, read.SHA256) {
			return Fail{Reason: v1beta2.ReasonSnapshotChanged, Message: fmt.Sprintf(
				"The object %s was replaced: its SHA-256 is %s, and EtcdBackup %s recorded %s when it was saved. The cluster was not changed. "+
					"Find out who can write to the bucket, and restore another snapshot.", read.Path, read.SHA256, s.Restore.Spec.EtcdBackup.Name, known.SHA256)}
		}
	}
	return nil
}

func accept(s State, wanted Verify) Step {
	if s.ofPrefixes() && s.Proof.Keys == nil {
		return wanted // the keys are not compared
	}
	for _, read := range []v1beta2.Snapshot{s.Proof.Snapshot, s.Proof.Base} {
		if fail := s.changed(read); fail != nil {
			return fail
		}
	}
	if fail := s.doesNotFit(); fail != nil {
		return fail
	}
	if s.Restore.Spec.DryRun {
		return Proved{ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point, Keys: s.Proof.Keys}
	}
	return Accept{
		Source: s.Proof.Source, ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point,
		SignedURL: s.Proof.SignedURL, Keys: s.Proof.Keys,
	}
}

// doesNotFit fails a restore whose members could not read the snapshot, or have no space for it. Keys fit into any cluster.
func (s State) doesNotFit() Step {
	if s.ofPrefixes() {
		return nil
	}
	if fail := s.tooNew(s.Proof.Snapshot.Path, s.Proof.Format); fail != nil {
		return fail
	}
	return s.tooSmall(s.Proof.Snapshot)
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
	next := s.Proof.Ended.Add(backoff(s.Restore.Status.Attempts, problem.Longest(s.Proof.Reason)))
	if !s.Now.Before(next) {
		return wanted
	}
	return Wait{
		Reason:  s.Proof.Reason,
		Message: s.Proof.Message + " The next attempt is at " + next.UTC().Format(time.RFC3339) + ".",
		Failure: true,
		Requeue: next.Sub(s.Now),
		Stalled: needsPerson(s.Proof.Reason, s.Restore.Status.Attempts),
		Patient: true,
	}
}

// needsPerson returns whether an attempt fails until a person acts, as far as is known.
func needsPerson(reason string, attempts int32) bool {
	return problem.Lasts(reason) || grant.Refused(reason) || attempts >= planning.StalledAfterFailures
}

const firstBackoff = 5 * time.Second

// backoff returns the pause after that many attempts: 5 s, doubled after each attempt, at most longest.
func backoff(attempts int32, longest time.Duration) time.Duration {
	pause := firstBackoff
	for ; attempts > 1 && pause < longest; attempts-- {
		pause *= 2
	}
	return min(pause, longest)
}
