package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The first bucket is lost with the cluster. The user points the EtcdBackup to the second one, which has the copies, and restores from the
// EtcdBackup. It takes no snapshot before, because the cluster is lost. The restore looked for the folder of the first bucket in the second one.
func TestTheFolderInANewBucketIsNotThatOfTheEarlierOne(t *testing.T) {
	for name, selector := range map[string]*v1beta2.SnapshotSelector{"select": {}, "none": nil} {
		s := State{Restore: v1beta2.EtcdRestore{Spec: v1beta2.EtcdRestoreSpec{
			EtcdBackup: &v1beta2.BackupReference{Name: "x"}, Select: selector,
		}}, Backup: &v1beta2.EtcdBackup{
			Spec: v1beta2.EtcdBackupSpec{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "second/copies"}}, EtcdCluster: &v1beta2.ClusterReference{Name: "c"},
				BackupPolicy: &v1beta2.BackupPolicy{Schedule: "@daily"}},
			Status: v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Path: "first/series/ns/c/0000000000000001/20260102T030000Z-00000000000000000009.db"}},
		}}
		s.Restore.Namespace, s.Backup.Namespace, s.Backup.Name = "ns", "ns", "x"
		wanted, _ := s.wanted()
		if selector != nil && (wanted.Source.Bucket != "second" || wanted.Source.Key != "copies/ns/c/") {
			t.Errorf("%s: it looks for the folder %q in the bucket %q", name, wanted.Source.Key, wanted.Source.Bucket)
		}
	}
}
