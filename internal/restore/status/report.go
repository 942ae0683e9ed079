package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// report writes one status.
type report struct {
	planning.Conditions
	status *v1beta2.EtcdRestoreStatus
}

func newReport(s state.State, status *v1beta2.EtcdRestoreStatus) report {
	return report{status: status, Conditions: planning.Conditions{
		List: &status.Conditions, Generation: s.Restore.Generation, Now: metav1.NewTime(s.Now).Rfc3339Copy(), Longest: planning.MaxNote,
	}}
}

// interrupted reports an attempt that ended with the operator.
func (r report) interrupted(d planning.Description) {
	r.status.Reason = d.Message
	r.open(d)
}

// follow reports what the cluster reports.
func (r report) follow(s state.State, c v1beta2.ClusterRestoreStatus, d planning.Description) {
	r.cluster(c)
	r.restoring(s, d)
}

func (r report) waiting(s state.State, step steps.Wait, d planning.Description) {
	r.status.Reason = ""
	if step.Failure {
		r.status.Reason = step.Message
	}
	r.open(d)
	if step.Stalled || !step.Patient && planning.NotReadyLeft(s.Restore.Status.Conditions, s.Now) == 0 {
		r.True(v1beta2.ConditionStalled, d.Reason, d.Message)
	}
}

// verifying keeps what was reported about a failed attempt until this one has ended.
func (r report) verifying(s state.State, d planning.Description) {
	retries := s.Retries(r.status.Attempts)
	if !retries {
		r.status.Reason = ""
	}
	stalled := meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionStalled)
	r.open(d)
	if retries && stalled != nil && stalled.Status == metav1.ConditionTrue {
		r.True(v1beta2.ConditionStalled, stalled.Reason, stalled.Message)
	}
}

// open reports a restore that has neither completed nor failed and that no cluster works on.
func (r report) open(d planning.Description) {
	r.False(v1beta2.ConditionReady, d.Reason, d.Message)
	r.verified(d)
	r.False(v1beta2.ConditionRestoring, v1beta2.ReasonPending, "The cluster has not started the restore.")
	r.False(v1beta2.ConditionComplete, v1beta2.ReasonPending, "The cluster is not restored.")
	r.NotFailed(d.Reason)
}

// restoring reports a restore that the cluster works on. It is Stalled if the cluster is.
func (r report) restoring(s state.State, d planning.Description) {
	r.status.Reason = ""
	r.False(v1beta2.ConditionReady, d.Reason, d.Message)
	r.verified(d)
	r.True(v1beta2.ConditionRestoring, d.Reason, d.Message)
	r.False(v1beta2.ConditionComplete, d.Reason, "The cluster is not restored yet.")
	r.NotFailed(d.Reason)
	if cluster := s.StalledCluster(); cluster != nil {
		r.True(v1beta2.ConditionStalled, d.Reason, state.HelpNeeded("The cluster is being restored, but EtcdCluster "+s.Cluster.Name, cluster))
	}
}

func (r report) complete(d planning.Description) {
	r.status.Succeeded, r.status.Reason = true, ""
	r.status.CompletionTime = &r.Now
	r.True(v1beta2.ConditionReady, d.Reason, d.Message)
	r.verified(d)
	r.False(v1beta2.ConditionRestoring, d.Reason, "The cluster is restored.")
	r.True(v1beta2.ConditionComplete, d.Reason, d.Message)
	r.NotFailed(d.Reason)
}

func (r report) fail(d planning.Description) {
	r.status.Succeeded, r.status.Reason = false, d.Message
	r.status.CompletionTime = &r.Now
	r.False(v1beta2.ConditionReady, d.Reason, d.Message)
	r.verified(d)
	r.False(v1beta2.ConditionRestoring, d.Reason, "The restore failed.")
	r.False(v1beta2.ConditionComplete, d.Reason, "The restore failed.")
	r.True(v1beta2.ConditionFailed, d.Reason, d.Message)
	r.True(v1beta2.ConditionStalled, d.Reason, d.Message)
}

// verified stays true from the moment when the snapshot is verified, even if the restore fails later.
func (r report) verified(d planning.Description) {
	snapshot := r.status.Snapshot
	if v := r.status.Volume; v != nil {
		r.True(v1beta2.ConditionVerified, v1beta2.ReasonVerified, "PersistentVolumeClaim "+v.ClaimName+" exists, and no Pod used it. The seed verifies the data directory on it.")
		return
	}
	if snapshot == nil {
		r.False(v1beta2.ConditionVerified, d.Reason, d.Message)
		return
	}
	message := fmt.Sprintf("Snapshot %s is verified: revision %d, %d keys, %d bytes, SHA-256 %s.",
		snapshot.Path, snapshot.Revision, snapshot.Keys, snapshot.Size, snapshot.SHA256)
	if snapshot.Alarms != "" {
		message += " It has the alarms " + snapshot.Alarms + " of its cluster, and the restore removes them."
	}
	if strings.Contains(snapshot.Alarms, "CORRUPT") {
		message += " The members of that cluster had different data, and this is the data of one of them: compare it with what you expect."
	}
	message += r.identities()
	if r.status.Choice != "" {
		message += planning.Sentence(" It is ", r.status.Choice)
	}
	r.True(v1beta2.ConditionVerified, v1beta2.ReasonVerified, message)
}

// identities returns who reads the snapshot, if the Secret has no credentials.
func (r report) identities() string {
	const own = " restore-operator has read it with its own identity, because no Secret with credentials is named."
	const asMember = " The seed reads it as the ServiceAccount of the members, which needs the right to read it."
	url := r.status.SignedURL
	switch {
	case url != nil && url.SecretName != "":
		return own + " The seed reads it by a signed URL in the Secret " + url.SecretName + "."
	case url != nil:
		return own + asMember + planning.Sentence(" restore-operator could not sign a URL for it: ", url.Message)
	case r.status.Source != nil && r.status.Source.Secret == "", r.status.Follow != nil && r.status.Follow.Source.Secret == "":
		return own + asMember
	}
	return ""
}

// cluster copies the facts that the cluster reports.
func (r report) cluster(c v1beta2.ClusterRestoreStatus) {
	r.status.ClusterIDBefore, r.status.ClusterID = c.ClusterIDBefore, c.ClusterID
	r.status.RestoredRevision, r.status.Percent = c.Revision, c.Percent
	r.status.UnsavedRevisions = c.UnsavedRevisions
	if c.Follow != nil && r.status.Follow != nil {
		r.status.Follow.FollowStatus = *c.Follow.DeepCopy()
	}
	if c.Volume != nil && r.status.Volume != nil {
		r.status.Volume.Read = c.Volume.Read.DeepCopy()
	}
}
