package plan

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// The safety snapshot saves the data that the restore replaces. It is taken when the seed is ready, so that it lacks as
// little as possible. Its key and its mark are the same in every attempt: an operator that was killed finds it again.

// Safety is the attempt to save the old cluster.
type Safety struct {
	Progress Progress
	// Path and Revision of the snapshot, if Progress is ProofDone.
	Path     string
	Revision int64
	// Time is the SafetyOrder.Time of the attempt. The snapshot has every write that was acknowledged before it.
	Time time.Time
	// Message is why it failed, and Ended when, if Progress is ProofFailed. Refused is true if the store does not permit it. Others is true if it ended
	// only because of what other namespaces use or wait for.
	Message string
	Ended   time.Time
	Refused bool
	Others  bool
	// Lost is how long this attempt and those before it have waited for others, or were lost to them.
	Lost time.Duration
}

// SafetyOrder is everything that one attempt needs.
type SafetyOrder struct {
	// Target is the object to write.
	Target storage.Location
	// Encoder of the EtcdBackup whose snapshot is restored, with the recipients of all EtcdBackups of the cluster if it has none. Encoded means that
	// none of them encrypts, and that the snapshot to restore is compressed or encrypted. If the Secret has an identity, the safety snapshot is
	// encrypted for it.
	Encoder codec.Encoder
	Encoded bool
	// URLs of the members, and the Secrets with the operators' client certificate and user. TLSSecret is empty without TLS,
	// and AuthSecret without a user.
	URLs                  []string
	TLSSecret, AuthSecret string
	// Namespace, Cluster, UID and ClusterID of the old cluster.
	Namespace, Cluster, UID, ClusterID string
	// Mark is the same in every attempt. Time is when the seed was ready, and Since when the restore was created.
	Mark        string
	Time, Since time.Time
	// MinRevision is the last revision that the old members acknowledged, if they refuse writes; else 0.
	MinRevision int64
}

type (
	// SaveOldData starts to save the old cluster, or lets the attempt continue if Start is false.
	SaveOldData struct {
		Start   bool
		Cluster v1beta2.ClusterRestoreStatus
		Failure string
		Requeue time.Duration
	}
	// RecordSafety stores what became of the safety snapshot. Then cluster-operator continues.
	RecordSafety struct {
		Cluster  v1beta2.ClusterRestoreStatus
		Snapshot v1beta2.SafetySnapshotStatus
	}
)

func (step SaveOldData) describe(s State) planning.Description {
	d := planning.Description{Reason: string(step.Cluster.Step), Message: step.Cluster.Message, Requeue: step.Requeue}
	if step.Failure != "" {
		d.Message = planning.Sentence("The safety snapshot could not be taken: ", step.Failure) + " The operator tries again. The cluster is not changed."
	}
	return s.announced(corev1.EventTypeNormal, d)
}

func (step RecordSafety) describe(s State) planning.Description {
	d := planning.Description{Reason: string(step.Cluster.Step), Message: "The present data is saved as " + step.Snapshot.Path + "."}
	kind, reason := corev1.EventTypeNormal, "SafetySnapshotTaken"
	if step.Snapshot.Result != v1beta2.SafetySnapshotTaken {
		kind, reason = corev1.EventTypeWarning, "SafetySnapshotNotTaken"
		d.Message = planning.Sentence("The restore continues without a safety snapshot: ", step.Snapshot.Message)
		if s.Restore.Spec.SafetySnapshotPolicy().Requires() {
			d.Message = planning.Sentence("The restore fails, because the safety snapshot could not be taken: ", step.Snapshot.Message)
		}
	}
	d.Events = []planning.Event{{Type: kind, Reason: reason, Action: actionRestore, Note: planning.Shorten(d.Message, planning.MaxNote)}}
	return d
}

const (
	// safetyPause is the pause between two attempts to take a safety snapshot.
	safetyPause = 20 * time.Second
	// safetyPatience is how long an attempt that failed is repeated if the safety snapshot is not required. Time that was lost to other namespaces
	// says nothing about the members and the store, so it is added. An attempt that ended because of them is repeated for as long as cluster-operator waits.
	safetyPatience = 5 * time.Minute
)

// SafetyRecorded returns whether the status has what became of the safety snapshot. If cluster-operator has set
// seedReadyTime again, a snapshot from before that is taken again. Both times are those of cluster-operator's clock.
func (s State) SafetyRecorded() bool {
	saved, progress := s.Restore.Status.SafetySnapshot, s.progress()
	switch {
	case saved == nil:
		return false
	case progress == nil || !s.mayAskForSafety(*progress):
		return true
	}
	return !saved.Time.Before(progress.SeedReadyTime)
}

// mayAskForSafety returns whether cluster-operator may wait for the safety snapshot. It waits for an exact one when the old members refuse writes.
func (s State) mayAskForSafety(c v1beta2.ClusterRestoreStatus) bool {
	exact := s.Restore.Spec.SafetySnapshotPolicy() == v1beta2.SafetySnapshotExact
	return c.Step == v1beta2.RestoreSeeding || c.Step == restoringKeys || exact && c.Step == v1beta2.RestoreSwitching
}

// givesUpSafety returns whether the restore continues after a failed attempt. A short fault of a member or of the store
// must not cost the old data, so the operator waits. It does not wait if the store refuses to write, or if the cluster has no
// quorum and so serves no client. An earlier snapshot remains in the status: cluster-operator ends the wait then.
func (s State) givesUpSafety(ready metav1.Time) bool {
	earlier := s.Restore.Status.SafetySnapshot
	policy := s.Restore.Spec.SafetySnapshotPolicy()
	if policy == v1beta2.SafetySnapshotExact && s.Safety.Refused && earlier == nil {
		return true // clients cannot write while it waits
	}
	if policy.Requires() || earlier != nil && earlier.Result == v1beta2.SafetySnapshotTaken {
		return false
	}
	patience := min(safetyPatience+s.Safety.Lost, v1beta2.SafetySnapshotLimit)
	if s.Safety.Others {
		patience = v1beta2.SafetySnapshotLimit
	}
	if s.ofPrefixes() && s.waitedFor(ready, patience) {
		return true
	}
	return s.Safety.Refused || !s.Now.Before(ready.Add(patience)) || meta.IsStatusConditionFalse(s.Cluster.Status.Conditions, v1beta2.ConditionAvailable)
}

// oldDataIsNotSaved saves the old cluster when cluster-operator waits for that.
func oldDataIsNotSaved(s State) Step {
	progress := s.progress()
	if s.ofPrefixes() && s.Restore.Spec.SafetySnapshotPolicy() == v1beta2.SafetySnapshotSkip {
		return nil // cluster-operator asks for none of a whole cluster
	}
	if progress == nil || !s.mayAskForSafety(*progress) || progress.SeedReadyTime == nil || s.SafetyRecorded() {
		return nil
	}
	step := SaveOldData{Cluster: *progress, Requeue: progressInterval}
	switch s.Safety.Progress {
	case ProofRunning:
		return step
	case ProofDone:
		at := metav1.NewTime(s.Safety.Time).Rfc3339Copy()
		if !at.Before(progress.SeedReadyTime) {
			return RecordSafety{*progress, v1beta2.SafetySnapshotStatus{
				Result: v1beta2.SafetySnapshotTaken, Path: s.Safety.Path, Revision: s.Safety.Revision, Time: at,
			}}
		}
	case ProofFailed:
		if s.givesUpSafety(*progress.SeedReadyTime) {
			return RecordSafety{*progress, s.notTaken(s.Safety.Message, progress.SeedReadyTime)}
		}
		if fail := s.keysAreNotSaved(*progress.SeedReadyTime); fail != nil {
			return fail
		}
		step.Failure = s.Safety.Message
		step.Start = !s.Now.Before(s.Safety.Ended.Add(safetyPause))
		return step
	case ProofNone, ProofQueued:
	}
	step.Start = true
	return step
}

func (s State) notTaken(why string, asked *metav1.Time) v1beta2.SafetySnapshotStatus {
	at := metav1.NewTime(s.Now).Rfc3339Copy()
	if asked != nil {
		at = *asked
	}
	return v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: at, Message: planning.Shorten(why, planning.MaxNote)}
}

// switchedUnsaved records that the cluster was switched while the safety snapshot was still open.
func (r report) switchedUnsaved(s State, c v1beta2.ClusterRestoreStatus) {
	wanted := s.Restore.Spec.SafetySnapshotPolicy() != v1beta2.SafetySnapshotSkip && c.ClusterIDBefore != ""
	notSwitched := s.mayAskForSafety(c) || c.Step == v1beta2.RestoreFailed && c.SafetySnapshot == ""
	if !wanted || notSwitched || r.status.SafetySnapshot != nil {
		return
	}
	why := "It was not taken within " + v1beta2.SafetySnapshotLimit.String() + ", and the restore continued."
	if c.SeedReadyTime == nil {
		why = "The present cluster-operator did not wait for it. Upgrade it."
	}
	saved := s.notTaken(why, c.SeedReadyTime)
	if c.SafetySnapshot != "" { // this status was lost
		saved = v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: c.SafetySnapshot, Time: saved.Time}
	}
	r.status.SafetySnapshot = &saved
}

// SafetyOrder returns what an attempt to save the old cluster needs.
func (s State) SafetyOrder() SafetyOrder {
	src, progress := s.source(), *s.progress()
	o := s.members(progress.ClusterIDBefore)
	o.Target, o.Mark = storage.FromSource(src), string(s.Restore.UID)+"/safety"
	o.Time, o.Since, o.MinRevision = progress.SeedReadyTime.Time, s.Restore.CreationTimestamp.Time, progress.LastRevision
	if b := s.Backup; b != nil && s.Restore.Spec.EtcdBackup != nil {
		o.Encoder.Compression = string(b.Spec.Compression)
		if b.Spec.Encryption != nil {
			o.Encoder.Recipients = b.Spec.Encryption.Age.Recipients
		}
	}
	if len(o.Encoder.Recipients) == 0 { // a plain snapshot is restored; what it replaces may be worth more
		o.Encoder.Recipients = s.Recipients
	}
	o.Target.Options = s.writing()
	o.Encoded = len(o.Encoder.Recipients) == 0 && s.Restore.Status.Snapshot.PlainSize > 0
	o.Target.Key = SafetyFolderOf(src.Key)
	return o
}

// source returns the snapshot that is restored, after it was verified.
func (s State) source() v1beta2.RestoreSource {
	if s.ofPrefixes() {
		return *s.Restore.Status.Prefixes.Source
	}
	return *s.Restore.Status.Source
}

// archivedBefore returns the newest revision of the old cluster that a continuous archive has; 0 for none. Each restore begins another timeline, so
// that of the old cluster is the newest whose first snapshot is from before the seed was ready. An archive that ended before may be of an earlier
// history, whose revisions say nothing about this one.
func (s State) archivedBefore(c v1beta2.ClusterRestoreStatus) (revision int64) {
	if c.SeedReadyTime == nil {
		return 0
	}
	for _, b := range s.Backups {
		newest := v1beta2.RecoverableRange{}
		for _, r := range b.Status.Recoverable {
			if r.From.Time.Before(c.SeedReadyTime) && r.Timeline >= newest.Timeline {
				newest = r
			}
		}
		if !newest.To.Time.Before(c.SeedReadyTime) {
			revision = max(revision, newest.To.Revision)
		}
	}
	return revision
}

// SafetyFolderOf returns the folder of the safety snapshots for a snapshot with this key.
func SafetyFolderOf(key string) string {
	folder := ""
	if at := strings.LastIndexByte(key, '/'); at >= 0 {
		folder = key[:at]
	}
	if parsed, series := snapshot.ParseKey(key); series {
		folder = parsed.Folder
	}
	// The restore of a safety snapshot, or of the snapshot of a point.
	if before, _, found := strings.Cut("/"+folder+"/", "/"+snapshot.SafetyFolder+"/"); found {
		folder = strings.TrimPrefix(before, "/")
	}
	return strings.TrimPrefix(folder+"/"+snapshot.SafetyFolder, "/")
}
