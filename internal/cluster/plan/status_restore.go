package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// coarse is the step of percents that are told, so that a status is not written more than some twenty times.
const coarse = 5

// setPercent says how far the step is that the restore has got to. A seed that does not answer has not gone back.
func setPercent(restore *v1beta2.ClusterRestoreStatus, s state.State) {
	if restore == nil {
		return
	}
	switch restore.Step {
	case v1beta2.RestoreSeeding:
		if seed, ok := state.SeedOf(s, restore.Incarnation); ok && seed.Seed != nil {
			percent := seed.Seed.Percent
			if !seed.Seed.DoneAt.IsZero() {
				percent = 100
			}
			restore.Percent = max(restore.Percent, percent/coarse*coarse)
		}
	case v1beta2.RestoreGrowing:
		serving := s.Where(func(m state.Member) bool { return m.Incarnation == restore.Incarnation && m.Serving && m.PodReady })
		restore.Percent = int32(min(100, 100*len(serving)/max(s.Spec.Size, 1)))
	case v1beta2.RestoreSwitching, v1beta2.RestoreComplete:
		restore.Percent = 100
	}
}

// setUnsaved says how many of the acknowledged revisions no snapshot and no archive has. The archive may still get some of them after the switch.
func setUnsaved(restore *v1beta2.ClusterRestoreStatus, s state.State) {
	if restore == nil || restore.LastRevision == 0 || restore.Step != v1beta2.RestoreGrowing || s.Request == nil || s.Request.UID != restore.UID {
		return
	}
	if saved := s.Request.Saved; saved != nil && saved.Result == v1beta2.SafetySnapshotTaken {
		restore.SafetyRevision = saved.Revision
	}
	restore.UnsavedRevisions = ptr.To(max(restore.LastRevision-max(restore.SafetyRevision, s.Request.Archived), 0))
}

// setSafetyPolicy keeps that the safety snapshot is to be exact, in each pass: an earlier release may have begun the switch.
func setSafetyPolicy(restore *v1beta2.ClusterRestoreStatus, s state.State) {
	if restore != nil && restore.Step == v1beta2.RestoreSwitching && s.Requested() && state.WantsExact(s) {
		restore.SafetySnapshotPolicy = v1beta2.SafetySnapshotExact
	}
}

// recordSafety keeps where the safety snapshot is, because the EtcdRestore may be deleted.
func recordSafety(restore *v1beta2.ClusterRestoreStatus, s state.State) {
	if s.Request != nil && s.Request.Saved != nil && s.Request.Saved.Path != "" {
		restore.SafetySnapshot = s.Request.Saved.Path
	}
}

// replacedVolumes reports the volumes that were set aside, and when they are deleted.
func replacedVolumes(s state.State) []v1beta2.ReplacedVolume {
	var theirVolumes []v1beta2.ReplacedVolume
	for _, v := range s.SetAside {
		if !v.Deleting {
			theirVolumes = append(theirVolumes, v1beta2.ReplacedVolume{Name: v.Name, KeptUntil: metav1.NewTime(volumes.KeptUntilOf(s, v))})
		}
	}
	return theirVolumes
}

// rememberRestore keeps that a restore was carried out, so that it is not repeated by accident.
func rememberRestore(status *v1beta2.EtcdClusterStatus, s state.State) {
	past := slices.DeleteFunc(status.PastRestores, func(p v1beta2.PastRestore) bool { return p.UID == s.Restore.UID })
	created := s.Restore.CreationTime
	if created == nil && s.Requested() { // an earlier operator began it
		created = s.Request.CreationTime()
	}
	past = append(past, v1beta2.PastRestore{
		Name: s.Restore.Name, UID: s.Restore.UID, CreationTime: created, SpecHash: s.Restore.SpecHash, Time: metav1.NewTime(s.Now), ClusterID: s.Restore.ClusterID,
		SafetySnapshot: s.Restore.SafetySnapshot,
	})
	status.PastRestores = past[max(0, len(past)-v1beta2.MaxPastRestores):]
}
