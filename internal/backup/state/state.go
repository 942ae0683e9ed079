// Package state has what a pass of backup-operator knows of one EtcdBackup, and what an attempt for it needs. It is plain data, and pure.
package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// State is everything that a decision may depend on: one EtcdBackup, the EtcdCluster that it names, and the attempt that
// this process runs for it. It is plain data without any secret, and prints as JSON.
type State struct {
	Namespace, Name string
	UID             types.UID
	Generation      int64
	CreatedAt       time.Time
	Spec            v1beta2.EtcdBackupSpec
	// Status is what the operator wrote last. It has the facts that cannot be observed again: how many attempts failed,
	// when the next one is due, which snapshot was verified, and how a one-shot ended.
	Status v1beta2.EtcdBackupStatus
	// Request is the value of the annotation that asks for a snapshot now. It is empty without the annotation.
	Request string
	// Deleting is true if it is being deleted, since DeletedAt. Held is true if it has this operator's finalizer.
	Deleting, Held bool
	DeletedAt      time.Time
	// DeletingFor is for how long this process has seen that it is being deleted. It depends on no other clock.
	DeletingFor time.Duration
	// OldFinalizer is true if it has the finalizer of coreos/etcd-operator.
	OldFinalizer bool

	// Target is the object of a one-shot, or the folder of a series. It is valid if Problem is nil.
	Target storage.Location
	// Problem is why the spec can never work. It is nil if the spec is valid.
	Problem *Failure
	// Cluster is the EtcdCluster of the spec. It is nil if it does not exist or the spec names endpoints instead.
	Cluster *Cluster
	// Refused is why the values of the chart do not allow the Target. It is nil if they do, or if its Secret is missing.
	Refused *Failure
	// SecretProblem is which Secret is missing. It is empty if all exist.
	SecretProblem string

	// CopyTarget is the second location. It is valid if the spec has one and CopyProblem is nil.
	CopyTarget  storage.Location
	CopyProblem *Failure
	// Copy is the copy to the second location that this process runs, or has ended and not reported yet. CopyBusy is true
	// until a stopped one has returned, too.
	Copy     *Attempt
	CopyBusy bool

	// Archive is what the archiver that this process runs reports; nil if none runs. ArchiveBusy is true until a stopped one
	// has returned, too.
	Archive     *Archive
	ArchiveBusy bool
	// ArchiveCopy is what this process reports about the copy of the archive; nil if it does not copy one. ArchiveCopyBusy is like ArchiveBusy.
	ArchiveCopy     *ArchiveCopy
	ArchiveCopyBusy bool

	// ClocksDiffer is true if the clock of the operator differs from that of the API server. Now is the time of the API server then.
	ClocksDiffer bool
	// Jitter is the longest time by which the operator spreads snapshots of the same schedule.
	Jitter time.Duration
	// Full is true if a snapshot would have to wait for a worker.
	Full bool
	// Attempt is the one that this process runs, or has ended and not reported yet.
	Attempt *Attempt
	Now     time.Time
}

// Fresh returns whether the spec has changed since the status was written.
func (s State) Fresh() bool { return s.Status.ObservedGeneration != s.Generation }

// Retrying returns whether an attempt at the snapshot that is due has failed already.
func (s State) Retrying() bool { return !s.Fresh() && s.Status.Attempts > 0 }

// NeverRan returns whether the last attempt was queued when its operator was stopped. It does not count.
func (s State) NeverRan() bool {
	p := s.Status.Progress
	return s.Attempt == nil && s.Retrying() && p != nil && p.Stage == StageQueued
}

// Series returns whether the spec asks for more than one snapshot.
func (s State) Series() bool { return isSeries(s.Spec) }

// Operator is the name of this operator, in logs, leader election and events.
const Operator = "backup-operator"
