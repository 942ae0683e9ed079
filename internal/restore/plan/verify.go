package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// snapshotIsNotVerified reads the source until it is verified, or can never be.
func snapshotIsNotVerified(s state.State) steps.Step {
	if s.Proven() {
		return nil
	}
	wanted, none := wanted(s)
	if none != nil {
		return none
	}
	if none := require(s, &wanted); none != nil {
		return none
	}
	wanted.Point, wanted.Keys = state.PointOrderOf(s, wanted.Choice), state.CompareOrderOf(s)
	switch s.Proof.Progress {
	case state.ProofQueued:
		return steps.Verifying{Queued: true, Waits: s.Proof.Waits}
	case state.ProofRunning:
		return steps.Verifying{Percent: s.Proof.Percent, Waits: s.Proof.Waits}
	case state.ProofDone:
		return accept(s, wanted)
	case state.ProofFailed:
		return retry(s, wanted)
	}
	if next := afterInterruption(s); next != nil {
		return next
	}
	return wanted
}

// changed fails a restore if the EtcdBackup recorded another SHA-256 of the snapshot. Who can write to the bucket can replace an object
// together with its manifest, and cannot write the status. A status that has no whole SHA-256 says nothing.
func changed(s state.State, read v1beta2.Snapshot) steps.Step {
	if s.Restore.Spec.EtcdBackup == nil || s.Backup == nil {
		return nil
	}
	if now, problem := s.Location(); problem == nil && !now.IsStoreOf(s.Backup.Status) {
		return nil // another store has other objects at the same path
	}
	recorded := s.Backup.Status.Snapshots
	if newest := s.Backup.Status.Snapshot; newest != nil {
		recorded = append([]v1beta2.Snapshot{*newest}, recorded...)
	}
	for _, known := range recorded {
		if known.Path == read.Path && snapshot.Replaced(known.SHA256, read.SHA256) {
			return steps.Fail{Reason: v1beta2.ReasonSnapshotChanged, Message: fmt.Sprintf(
				"The object %s was replaced: its SHA-256 is %s, and EtcdBackup %s recorded %s when it was saved. The cluster was not changed. "+
					"Find out who can write to the bucket, and restore another snapshot.", read.Path, read.SHA256, s.Restore.Spec.EtcdBackup.Name, known.SHA256)}
		}
	}
	return nil
}

func accept(s state.State, wanted steps.Verify) steps.Step {
	if s.OfPrefixes() && s.Proof.Keys == nil {
		return wanted // the keys are not compared
	}
	for _, read := range []v1beta2.Snapshot{s.Proof.Snapshot, s.Proof.Base} {
		if fail := changed(s, read); fail != nil {
			return fail
		}
	}
	if fail := doesNotFit(s); fail != nil {
		return fail
	}
	if s.Restore.Spec.DryRun {
		return steps.Proved{ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point, Keys: s.Proof.Keys}
	}
	return steps.Accept{
		Source: s.Proof.Source, ChosenBecause: s.Proof.ChosenBecause, Snapshot: s.Proof.Snapshot, Point: s.Proof.Point,
		SignedURL: s.Proof.SignedURL, Keys: s.Proof.Keys, Follow: s.Proof.Follow,
	}
}

// doesNotFit fails a restore whose members could not read the snapshot, or have no space for it. Keys fit into any cluster.
func doesNotFit(s state.State) steps.Step {
	if s.OfPrefixes() {
		return nil
	}
	if fail := tooNew(s, s.Proof.Snapshot.Path, s.Proof.Format); fail != nil {
		return fail
	}
	return tooSmall(s, s.Proof.Snapshot)
}

// retry reads the source again after a pause that grows, unless the failure is final. If the spec selects another
// source now, the operator reads that one at once.
func retry(s state.State, wanted steps.Verify) steps.Step {
	if s.Proof.Asked != wanted.Source || s.Proof.Choice != wanted.Choice {
		return wanted
	}
	if s.Proof.Final {
		return steps.Fail{Reason: s.Proof.Reason, Message: s.Proof.Message}
	}
	next := s.Proof.Ended.Add(backoff(s.Restore.Status.Attempts, problem.Longest(s.Proof.Reason)))
	if !s.Now.Before(next) {
		return wanted
	}
	return steps.Wait{
		Reason:  s.Proof.Reason,
		Message: s.Proof.Message + " The next attempt is at " + next.UTC().Format(time.RFC3339) + ".",
		Failure: true,
		Requeue: next.Sub(s.Now),
		Stalled: needsPerson(s.Proof.Reason, s.Restore.Status.Attempts),
		Patient: true,
	}
}
