package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// ChooseRestore finds the restore to work on among all of the namespace, oldest first: the one under way until
// its own operator has reported its end, else the oldest verified one.
func ChooseRestore(s *state.State, restores []v1beta2.EtcdRestore) {
	var next *v1beta2.EtcdRestore
	learn(s, restores)
	for i := range restores {
		restore := &restores[i]
		if restore.Spec.EtcdCluster.Name != s.Name || !open(s, restore) {
			continue
		}
		failed := isTrue(restore, v1beta2.ConditionFailed)
		underWay := s.Restore != nil && s.Restore.UID == restore.UID
		if s.RestorePending == "" || failed {
			s.RestorePending = restore.Name
			s.RestoreProgress = int64(restore.Status.Percent)
		}
		switch verified := Verified(restore); {
		case underWay && (failed || !verified):
			s.RestoreFailed, s.RestoreUnverified = failed, !failed
		case failed || !verified:
		case underWay:
			s.Request = requestOf(restore)
			return
		case next == nil:
			next = restore
		}
	}
	if next != nil {
		s.Request = requestOf(next)
	}
}

// open returns whether there is something to do for an EtcdRestore of the cluster.
func open(s *state.State, restore *v1beta2.EtcdRestore) bool {
	return restore.DeletionTimestamp.IsZero() && !isTrue(restore, v1beta2.ConditionComplete) && !restore.Spec.DryRun && len(restore.Spec.Prefixes) == 0 && !refuses(s, restore)
}

// Verified returns whether restore-operator has verified an EtcdRestore.
func Verified(restore *v1beta2.EtcdRestore) bool {
	return isTrue(restore, v1beta2.ConditionVerified) && restore.Status.Snapshot != nil && restore.Status.Source != nil
}

// Ended returns whether an EtcdRestore has failed or is complete.
func Ended(restore *v1beta2.EtcdRestore) bool {
	return isTrue(restore, v1beta2.ConditionFailed) || isTrue(restore, v1beta2.ConditionComplete)
}

// refuses returns whether the cluster does not begin a restore, because it was carried out before. restore-operator
// refuses it as well, and reports why.
func refuses(s *state.State, restore *v1beta2.EtcdRestore) bool {
	underWay := s.Restore != nil && s.Restore.UID == restore.UID
	return !underWay && v1beta2.RefuseRestore(s.ClusterID, s.PastRestores, restore) != ""
}

func requestOf(restore *v1beta2.EtcdRestore) *state.RestoreRequest {
	bump := v1beta2.DefaultRevisionBump
	if restore.Spec.RevisionBump != nil {
		bump = *restore.Spec.RevisionBump
	}
	safety := restore.Spec.SafetySnapshotPolicy()
	if safety == v1beta2.SafetySnapshotSkip {
		safety = ""
	}
	signed := ""
	if url := restore.Status.SignedURL; url != nil {
		signed = url.SecretName
	}
	request := &state.RestoreRequest{
		SignedURL:      signed,
		Safety:         safety,
		Saved:          restore.Status.SafetySnapshot.DeepCopy(),
		Archived:       restore.Status.ArchivedRevision,
		Name:           restore.Name,
		UID:            restore.UID,
		Source:         *restore.Status.Source,
		SHA256:         restore.Status.Snapshot.SHA256,
		Size:           restore.Status.Snapshot.Size,
		PlainSize:      restore.Status.Snapshot.PlainSize,
		Revision:       restore.Status.Snapshot.Revision,
		RevisionBump:   bump,
		SpecHash:       restore.Spec.Hash(),
		Created:        restore.CreationTimestamp,
		StorageVersion: restore.Status.Snapshot.StorageVersion,
	}
	if request.Saved != nil {
		request.SavedFor = request.Saved.Time.Time
	}
	return request
}

func isTrue(restore *v1beta2.EtcdRestore, condition string) bool {
	for _, c := range restore.Status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
