package plan

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// Who can write to the bucket replaced a snapshot with its manifest, and the next restore used it.
func TestARestoreFailsIfTheSnapshotOfAnEtcdBackupWasReplaced(t *testing.T) {
	forged, original := strings.Repeat("f", 64), strings.Repeat("0", 64)
	read := v1beta2.Snapshot{Path: "b/k", SHA256: forged}
	saved := v1beta2.Snapshot{Path: "b/k", SHA256: original}
	for name, test := range map[string]struct {
		status  v1beta2.EtcdBackupStatus
		by      *v1beta2.BackupReference
		changed bool
	}{
		"the newest snapshot":         {v1beta2.EtcdBackupStatus{Snapshot: &saved}, &v1beta2.BackupReference{Name: "series"}, true},
		"an older snapshot":           {v1beta2.EtcdBackupStatus{Snapshots: []v1beta2.Snapshot{{Path: "b/n", SHA256: "n"}, saved}}, &v1beta2.BackupReference{Name: "series"}, true},
		"the same snapshot":           {v1beta2.EtcdBackupStatus{Snapshot: &read}, &v1beta2.BackupReference{Name: "series"}, false},
		"one that no status has":      {v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Path: "b/n", SHA256: "n"}}, &v1beta2.BackupReference{Name: "series"}, false},
		"a status without SHA-256":    {v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Path: "b/k", SHA256: "-"}}, &v1beta2.BackupReference{Name: "series"}, false},
		"a restore that names a path": {v1beta2.EtcdBackupStatus{Snapshot: &saved}, nil, false},
	} {
		var s state.State
		s.Restore.Spec.EtcdBackup = test.by
		s.Backup = &v1beta2.EtcdBackup{Status: test.status}
		s.Proof = state.Proof{Progress: state.ProofDone, Snapshot: read}
		fail, failed := changed(s, read).(steps.Fail)
		if failed != test.changed || failed && (fail.Reason != v1beta2.ReasonSnapshotChanged || !strings.Contains(fail.Message, forged) || !strings.Contains(fail.Message, original)) {
			t.Errorf("%s: %+v", name, fail)
		}
	}
}

// A restore to a point in time began with a snapshot that was replaced together with its manifest, because only the result of the
// replay was compared.
func TestARestoreToAPointFailsIfItsBaseWasReplaced(t *testing.T) {
	forged, original := strings.Repeat("f", 64), strings.Repeat("0", 64)
	for name, sha256 := range map[string]string{"replaced": forged, "as it was saved": original} {
		for _, dryRun := range []bool{false, true} {
			var s state.State
			s.Restore.Spec.EtcdBackup, s.Restore.Spec.DryRun = &v1beta2.BackupReference{Name: "series"}, dryRun
			s.Backup = &v1beta2.EtcdBackup{Status: v1beta2.EtcdBackupStatus{Snapshots: []v1beta2.Snapshot{{Path: "b/base", SHA256: original}}}}
			s.Proof = state.Proof{
				Progress: state.ProofDone, Snapshot: v1beta2.Snapshot{Path: "b/point", SHA256: strings.Repeat("1", 64)},
				Point: &v1beta2.PointInTimeStatus{Base: "b/base"}, Base: v1beta2.Snapshot{Path: "b/base", SHA256: sha256},
			}
			fail, failed := accept(s, steps.Verify{}).(steps.Fail)
			if changed := failed && fail.Reason == v1beta2.ReasonSnapshotChanged; changed != (sha256 == forged) {
				t.Errorf("%s, dry run %v: %T %+v", name, dryRun, accept(s, steps.Verify{}), fail)
			}
		}
	}
}
