package backup

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
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

// Cluster is the part of an EtcdCluster that decisions depend on.
type Cluster struct {
	Name string
	UID  types.UID
	// CreatedAt is when the EtcdCluster was created.
	CreatedAt time.Time
	// ID of the etcd cluster, 16 hex digits. It is empty until the cluster has formed.
	ID string
	// Available is true if a quorum of members serves clients. Message is why not.
	Available bool
	Message   string
	// Hibernated is true if spec.hibernate has stopped all members.
	Hibernated bool
	// Recovering is true until the survivor of a lost quorum serves alone. The old members may still return until then, and keep their history.
	Recovering bool
	// Recovery identifies the last recovery from a lost quorum, which keeps the ID. It is empty if there was none.
	Recovery string
	// TLSSecret and AuthSecret are the Secrets with the certificate and with the user of the operators. They are empty
	// without TLS and without a user.
	TLSSecret, AuthSecret string
	// ClientURLs of the members. The attempt asks each member whether it is a healthy voter.
	ClientURLs []string
}

// Failure is one of the API's reasons, and a message that says what is wrong and what to do.
type Failure struct{ Reason, Message string }

// Kind of an attempt.
type Kind string

// An attempt takes a snapshot, runs a restore test, deletes all snapshots of the EtcdBackup, deletes those that retention
// does not keep, or copies snapshots to the second location.
const (
	KindSnapshot Kind = ""
	KindDrill    Kind = "drill"
	KindPurge    Kind = "purge"
	KindPrune    Kind = "prune"
	KindCopy     Kind = "copy"
)

// Attempt is one attempt to do what its Kind says.
type Attempt struct {
	Kind Kind
	// Request that it was started for, see State. Base is the reason if the archiver has asked for it.
	Request, Base string
	// Generation of the spec that it was started for.
	Generation int64
	// Number counts the attempts at the snapshot that is due, from 1.
	Number    int32
	StartedAt time.Time
	// Queued is true while it waits for a worker. Progress while it runs.
	Queued   bool
	Progress Progress
	// Result is nil while it runs.
	Result *Result
}

// Progress of an attempt.
type Progress struct {
	// Stage in words, for example "streaming from http://10.0.0.1:2379". It is empty while the attempt waits for a worker.
	Stage string
	// Why it waits, if it does.
	Why turns.Reason
	// Bytes that were processed, of about that many.
	Bytes, About int64
	// PerSecond is the average since the stage started, in bytes per second. It is 0 in the first second.
	PerSecond int64
}

// Result is how an attempt ended.
type Result struct {
	EndedAt time.Time
	// Snapshot is the newest verified one. It is nil if the attempt failed.
	Snapshot *v1beta2.Snapshot
	// Found is true if the snapshot existed before the attempt, which took none.
	Found bool
	// Failure is nil if the attempt succeeded.
	Failure *Failure
	// Kept are the newest snapshots of the series that are kept.
	Kept []v1beta2.Snapshot
	// Pruned is how many old snapshots were deleted. PruneProblem is why others were not. It does not fail the attempt.
	Pruned       int
	PruneProblem string
	PruneReason  string
	// Missing is how many snapshots are still to be copied to the second location. CopyProblem is why older ones could not be copied.
	Missing     int
	CopyProblem string
	// Drill is the result of a restore test. It is nil if there was none.
	Drill *v1beta2.BackupDrill
	// Proof is the result of a proof of the archive. It is nil if there was none.
	Proof *v1beta2.ArchiveProof
	// Untested is when the snapshot was taken whose restore test could not be carried out. It is zero if there is none.
	Untested time.Time
}

// finalizer that coreos/etcd-operator adds to periodic backups.
const finalizer = "backup-operator-periodic"

// Timeout of one attempt. An object from before the maximum may have more.
func (s State) Timeout() time.Duration {
	if p := s.Spec.BackupPolicy; p != nil && p.TimeoutInSecond > 0 {
		return seconds(min(p.TimeoutInSecond, v1beta2.MaxBackupTimeoutSeconds))
	}
	return seconds(v1beta2.DefaultBackupTimeoutSeconds)
}

// tlsSecret returns the name of the Secret that clients of the source need. It is empty without TLS.
func (s State) tlsSecret() string {
	if s.Spec.EtcdCluster == nil {
		return s.Spec.ClientTLSSecret
	}
	if s.Cluster == nil {
		return ""
	}
	return s.Cluster.TLSSecret
}

// authSecret returns the name of the Secret with the user for etcd's authentication. It is empty without one.
func (s State) authSecret() string {
	if s.Spec.EtcdCluster == nil {
		return s.Spec.ClientAuthSecret
	}
	if s.Cluster == nil {
		return ""
	}
	return s.Cluster.AuthSecret
}

// fresh returns whether the spec has changed since the status was written.
func (s State) fresh() bool { return s.Status.ObservedGeneration != s.Generation }

// retrying returns whether an attempt at the snapshot that is due has failed already.
func (s State) retrying() bool { return !s.fresh() && s.Status.Attempts > 0 }

// neverRan returns whether the last attempt was queued when its operator was stopped. It does not count.
func (s State) neverRan() bool {
	p := s.Status.Progress
	return s.Attempt == nil && s.retrying() && p != nil && p.Stage == stageQueued
}

// newest returns when the newest snapshot of the series was taken, and false if there is none. It ignores a snapshot in
// another folder or of another cluster, which belongs to another series, and a time in the future, which comes from a wrong
// clock.
func (s State) newest() (time.Time, bool) {
	at, found := s.lastTaken()
	return at, found && !clock.Ahead(at, s.Now)
}

// lives returns the prefix of the keys of the series, of all incarnations of its cluster.
func (s State) lives() string {
	return snapshot.Series{Folder: s.Target.Key, Namespace: s.Namespace, Cluster: sourceName(s.Name, s.Spec)}.Lives()
}

// present is what the spec saves now.
func (s State) present() source.Present {
	return source.PresentOf(s.Target, s.Namespace, s.Name, s.Spec)
}

// recorded returns the newest snapshot of the status if it is of what the spec saves now, and nil if it is not.
func (s State) recorded() *v1beta2.Snapshot { return s.present().Newest(s.Status) }

func (s State) lastTaken() (time.Time, bool) {
	newest := s.recorded()
	if newest == nil || !strings.HasPrefix(newest.Path, s.Target.Bucket+"/"+s.lives()) {
		return time.Time{}, false
	}
	if at, err := time.Parse(time.RFC3339, newest.CreatedAt); err == nil {
		return at.Truncate(time.Second), true // with the precision of nextTime in the status
	}
	if s.Status.LastSuccessDate == nil {
		return time.Time{}, false
	}
	return s.Status.LastSuccessDate.Time, true
}

// ended returns the condition with which a one-shot has ended under the current spec: Complete, Failed, or an empty
// string. As for a Job, these conditions cannot be observed again. They are the only ones that the operator reads.
func (s State) ended() string {
	if s.Series() {
		return ""
	}
	for _, kind := range []string{v1beta2.ConditionComplete, v1beta2.ConditionFailed} {
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		if c == nil || c.Status != "True" || c.ObservedGeneration != s.Generation {
			continue
		}
		if kind == v1beta2.ConditionComplete || terminal(c.Reason) {
			return kind
		}
	}
	return ""
}

// terminal returns whether another attempt under the same spec would fail the same way. Reasons of an invalid spec do not
// belong here, because every pass checks the spec again.
func terminal(reason string) bool {
	return reason == v1beta2.ReasonObjectExists || reason == v1beta2.ReasonSnapshotCorrupt
}
