package restore

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// ChooseRestore finds the restore to work on among all of the namespace, oldest first: the one under way until
// its own operator has reported its end, else the oldest verified one.
func ChooseRestore(s *state.State, restores []v1beta2.EtcdRestore) {
	var next *v1beta2.EtcdRestore
	learn(s, restores)
	s.RestoredVolumes = VolumesOf(s, restores)
	for i := range restores {
		restore := &restores[i]
		if restore.Spec.EtcdCluster.Name != s.Name || !restore.Open() || refuses(s, restore) {
			continue
		}
		failed := isTrue(restore, v1beta2.ConditionFailed)
		underWay := s.Restore != nil && s.Restore.UID == restore.UID
		if s.RestorePending == "" || failed {
			s.RestorePending = restore.Name
			s.RestoreProgress = int64(restore.Status.Percent)
		}
		switch mayBegin := restore.MayBegin(); {
		case underWay && !mayBegin:
			s.RestoreFailed, s.RestoreUnverified = failed, !failed
		case !mayBegin:
		case underWay:
			s.Request = requestOf(s, restore)
			return
		case next == nil:
			next = restore
		}
	}
	if next != nil {
		s.Request = requestOf(s, next)
	}
}

// VolumesOf returns the claims from which EtcdRestores restore that have not ended, also those that wait for another one, and those of other EtcdClusters.
func VolumesOf(s *state.State, restores []v1beta2.EtcdRestore) []string {
	var claims []string
	for i := range restores {
		r := &restores[i]
		if r.Spec.Volume == nil || !r.Open() || r.Ended() || r.Spec.EtcdCluster.Name == s.Name && refuses(s, r) {
			continue
		}
		claims = append(claims, r.Spec.Volume.ClaimName)
	}
	return claims
}

// refuses returns whether the cluster does not begin a restore, because it was carried out before. restore-operator
// refuses it as well, and reports why.
func refuses(s *state.State, restore *v1beta2.EtcdRestore) bool {
	underWay := s.Restore != nil && s.Restore.UID == restore.UID
	return !underWay && v1beta2.RefuseRestore(s.ClusterID, s.PastRestores, restore) != ""
}

func requestOf(s *state.State, restore *v1beta2.EtcdRestore) *state.RestoreRequest {
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
	read := ptr.Deref(restore.Status.Snapshot, v1beta2.Snapshot{})
	request := &state.RestoreRequest{
		SignedURL:      signed,
		Safety:         safety,
		Saved:          restore.Status.SafetySnapshot.DeepCopy(),
		Archived:       restore.Status.ArchivedRevision,
		Name:           restore.Name,
		UID:            restore.UID,
		Source:         ptr.Deref(restore.Status.Source, v1beta2.RestoreSource{}),
		SHA256:         read.SHA256,
		Size:           read.Size,
		PlainSize:      read.PlainSize,
		Revision:       read.Revision,
		RevisionBump:   bump,
		SpecHash:       restore.Spec.Hash(),
		Created:        restore.CreationTimestamp,
		StorageVersion: read.StorageVersion,
	}
	if f := restore.Status.Follow; f != nil {
		request.Source = f.Source
		request.Follow = &state.FollowRequest{Cluster: f.Cluster, ClusterUID: f.ClusterUID, ClusterID: f.ClusterID, OnlyClusterID: f.OnlyClusterID, Promote: f.Promote}
	}
	if v := restore.Status.Volume; v != nil {
		request.Volume, request.Size = v.DeepCopy(), state.MostRestored(*s, v.Size)
	}
	if request.Saved != nil {
		request.SavedFor = request.Saved.Time.Time
	}
	return request
}

// VolumeOf returns the volume that an EtcdRestore names; nil for none.
func VolumeOf(request *state.RestoreRequest) *v1beta2.ClusterVolumeStatus {
	if request.Volume == nil {
		return nil
	}
	return &v1beta2.ClusterVolumeStatus{ClaimName: request.Volume.ClaimName, ClaimUID: request.Volume.ClaimUID}
}

func isTrue(restore *v1beta2.EtcdRestore, condition string) bool {
	for _, c := range restore.Status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// learn completes the record of restores with what their EtcdRestores show, while these exist. If the status was lost, the client Service tells only the
// UID of the one that made the incarnation, and without its name and its time an older one would replace its data.
//
// In that case each complete EtcdRestore of the cluster counts as carried out. If the object of the last one is gone, all that are older than now are
// refused.
func learn(s *state.State, restores []v1beta2.EtcdRestore) {
	lost := s.Restore != nil && s.Restore.Name == ""
	for i := range restores {
		restore := &restores[i]
		if restore.Spec.EtcdCluster.Name != s.Name {
			continue
		}
		s.Restores = append(s.Restores, restore.UID)
		learnLast(s, restore)
		at := slices.IndexFunc(s.PastRestores, func(p v1beta2.PastRestore) bool { return p.UID == restore.UID })
		switch {
		case at >= 0:
			p := &s.PastRestores[at]
			p.Name, p.SpecHash, p.CreationTime = restore.Name, cmp.Or(p.SpecHash, restore.Spec.Hash()), cmp.Or(p.CreationTime, restore.CreationTimestamp.DeepCopy())
		case lost && isTrue(restore, v1beta2.ConditionComplete) && !restore.Spec.DryRun && len(restore.Spec.Prefixes) == 0:
			s.PastRestores = append(s.PastRestores, v1beta2.PastRestore{
				Name: restore.Name, UID: restore.UID, CreationTime: restore.CreationTimestamp.DeepCopy(), SpecHash: restore.Spec.Hash(),
				Time: metav1.NewTime(s.Now), ClusterID: restore.Status.ClusterID,
			})
		}
	}
	s.PastRestores = state.WithEarlier(s.PastRestores, s.Restore, s.Now)
	if s.Restore != nil && s.Restore.Name == "" { // the next pass does not learn again
		s.Restore = s.Restore.DeepCopy()
		s.Restore.Name = string(s.Restore.UID)
	}
}
