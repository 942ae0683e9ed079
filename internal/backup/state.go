package backup

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// State is all that a decision may look at: one EtcdBackup, the EtcdCluster that it names, and the attempt that
// this process makes for it. It is plain data without any secret: it prints as JSON, and Plan of the same State
// is the same Step.
type State struct {
	Namespace, Name string
	UID             types.UID
	Generation      int64
	CreatedAt       time.Time
	Spec            v1beta2.EtcdBackupSpec
	// Status is what was written last. It holds the facts that cannot be observed again: how many attempts
	// failed, when the next one is due, what was proven, and how a one-shot ended.
	Status v1beta2.EtcdBackupStatus
	// Request is the value of the annotation that asks for a snapshot now, empty where nobody does.
	Request string
	// Deleting: it was deleted, at DeletedAt. Held: it carries this operator's finalizer.
	Deleting, Held bool
	DeletedAt      time.Time
	// OldFinalizer: it carries the finalizer of coreos/etcd-operator, which nobody else would remove.
	OldFinalizer bool

	// Target is the object of a one-shot, or the folder of a series. It is set if Problem is nil.
	Target storage.Location
	// Problem is what makes the spec impossible, nil when it is fine.
	Problem *Failure
	// Cluster is the EtcdCluster of the spec; nil where there is none, or the spec names endpoints instead.
	Cluster *Cluster
	// SecretProblem says which Secret is missing, and is empty when all are there.
	SecretProblem string

	// Attempt is the one that this process makes, or has made and not yet reported.
	Attempt *Attempt
	Now     time.Time
}

// Cluster is what the status of an EtcdCluster says.
type Cluster struct {
	Name string
	UID  types.UID
	// ID of etcd's cluster, 16 hex digits, empty while it has not formed.
	ID string
	// Available: a quorum of members serves clients; Message says why not.
	Available bool
	Message   string
	// ClientTLSSecret names the Secret that clients need, empty without TLS.
	ClientTLSSecret string
	// ClientURLs of the members; which of them votes and is well, they are asked themselves.
	ClientURLs []string
}

// Failure is one of the API's reasons, and what to do about it.
type Failure struct{ Reason, Message string }

// Kind of an attempt.
type Kind string

// What an attempt does: it takes a snapshot, or reads one back and restores it into scratch space, or removes all
// that the EtcdBackup wrote.
const (
	KindSnapshot Kind = ""
	KindDrill    Kind = "drill"
	KindPurge    Kind = "purge"
)

// Attempt is one try at a snapshot, a drill, or the removal of all snapshots.
type Attempt struct {
	Kind Kind
	// Request that it was started for, see State.
	Request string
	// Generation of the spec that it was started for.
	Generation int64
	// Number counts the tries at the snapshot that is due, from 1.
	Number    int32
	StartedAt time.Time
	// Progress while it runs.
	Progress Progress
	// Result is nil while it runs.
	Result *Result
}

// Progress of an attempt.
type Progress struct {
	// Stage in words, for example "streaming from http://10.0.0.1:2379"; empty while it waits for its turn.
	Stage string
	// Bytes streamed, of About so many.
	Bytes, About int64
	// PerSecond is how many bytes have come in each second since the stage began; 0 in the first.
	PerSecond int64
}

// Result is how an attempt ended.
type Result struct {
	EndedAt time.Time
	// Snapshot is the newest proven one, nil where the attempt failed.
	Snapshot *v1beta2.Snapshot
	// Found: the snapshot was there before the attempt, which took none.
	Found bool
	// Failure is nil where the attempt succeeded.
	Failure *Failure
	// Kept are the newest snapshots of the series that are kept.
	Kept []v1beta2.Snapshot
	// Pruned snapshots of the series, and why that did not go well, which is no failure of the snapshot.
	Pruned       int
	PruneProblem string
	PruneReason  string
	// Drill is what was found where a snapshot was read back; nil where none was.
	Drill *v1beta2.BackupDrill
}

// finalizer of coreos/etcd-operator on periodic backups, which nobody else would remove.
const finalizer = "backup-operator-periodic"

// Timeout of one attempt.
func (s State) Timeout() time.Duration {
	seconds := v1beta2.DefaultBackupTimeoutSeconds
	if p := s.Spec.BackupPolicy; p != nil && p.TimeoutInSecond > 0 {
		seconds = p.TimeoutInSecond
	}
	return time.Duration(seconds) * time.Second
}

// tlsSecret names the Secret that clients of the source need, empty without TLS.
func (s State) tlsSecret() string {
	if s.Spec.EtcdCluster == nil {
		return s.Spec.ClientTLSSecret
	}
	if s.Cluster == nil {
		return ""
	}
	return s.Cluster.ClientTLSSecret
}

// fresh says whether the spec was changed since the status was written.
func (s State) fresh() bool { return s.Status.ObservedGeneration != s.Generation }

// retrying says whether the snapshot that is due was tried already and is not there.
func (s State) retrying() bool { return !s.fresh() && s.Status.Attempts > 0 }

// newest is when the newest snapshot of the series was taken; false where none is known. One that lies elsewhere
// is of another series, and one of the future is of a time when some clock was wrong.
func (s State) newest() (time.Time, bool) {
	at, found := s.lastTaken()
	return at, found && !at.After(s.Now.Add(skew))
}

// skew is how far apart the clocks of two machines may be.
const skew = time.Minute

func (s State) lastTaken() (time.Time, bool) {
	snapshot := s.Status.Snapshot
	if snapshot == nil || !strings.HasPrefix(snapshot.Path, s.Target.Path()+"/") {
		return time.Time{}, false
	}
	if at, err := time.Parse(time.RFC3339, snapshot.CreatedAt); err == nil {
		return at.Truncate(time.Second), true // as exact as nextTime in the status
	}
	if s.Status.LastSuccessDate == nil {
		return time.Time{}, false
	}
	return s.Status.LastSuccessDate.Time, true
}

// ended says how a one-shot ended for good under the present spec. Like a Job's, these two conditions are facts
// that cannot be observed again, and so the only ones that are read.
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

// terminal says whether another attempt at a one-shot under the same spec is pointless. What is wrong with the
// spec itself is not among these: it is seen anew each time.
func terminal(reason string) bool {
	return reason == v1beta2.ReasonObjectExists || reason == v1beta2.ReasonSnapshotCorrupt
}
