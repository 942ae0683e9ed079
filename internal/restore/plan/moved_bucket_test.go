package plan

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

const inFirst = "first/series/ns/c/0000000000000001/20260102T030000Z-00000000000000000009.db"

// movedTo returns a restore from an EtcdBackup whose spec names another location than the newest snapshot of its status.
func movedTo(path, endpoint string, selector *v1beta2.SnapshotSelector) state.State {
	s := state.State{Restore: v1beta2.EtcdRestore{Spec: v1beta2.EtcdRestoreSpec{
		EtcdBackup: &v1beta2.BackupReference{Name: "x"}, Select: selector,
	}}, Backup: &v1beta2.EtcdBackup{
		Spec: v1beta2.EtcdBackupSpec{
			StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: path, Endpoint: endpoint}},
			EtcdCluster: &v1beta2.ClusterReference{Name: "c"}, BackupPolicy: &v1beta2.BackupPolicy{Schedule: "@daily"},
		},
		Status: v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Path: inFirst}, SnapshotStore: "S3 https://one.example.com"},
	}}
	s.Restore.Namespace, s.Backup.Namespace, s.Backup.Name = "ns", "ns", "x"
	return s
}

// The first bucket is lost with the cluster. The user points the EtcdBackup to the second one, which has the copies, and restores from the
// EtcdBackup. It takes no snapshot before, because the cluster is lost. The restore looked for the folder of the first bucket in the second
// one, or for the path of the first store in the second one, which is another snapshot there, or none.
func TestTheFolderOfANewLocationIsNotThatOfTheEarlierOne(t *testing.T) {
	for name, moved := range map[string][2]string{
		"another bucket": {"second/copies", "https://one.example.com"},
		"another store":  {"first/copies", "https://two.example.com"},
	} {
		first, _ := wanted(movedTo(moved[0], moved[1], &v1beta2.SnapshotSelector{}))
		if pathOf(first) != moved[0]+"/ns/c/" {
			t.Errorf("%s: it looks for the folder %s", name, pathOf(first))
		}
		first, none := wanted(movedTo(moved[0], moved[1], nil))
		wait, waits := none.(steps.Wait)
		if !waits || wait.Reason != v1beta2.ReasonPending || !strings.Contains(wait.Message, "set select: {}") || !strings.Contains(wait.Message, inFirst+" of S3 https://one.example.com") {
			t.Errorf("%s, without select: it reads %s, and %#v", name, pathOf(first), none)
		}
	}
	wanted, none := wanted(movedTo("first/series", "https://ONE.example.com/", nil))
	if none != nil || pathOf(wanted) != inFirst {
		t.Errorf("the same location: it reads %s, and %#v", pathOf(wanted), none)
	}
}

func pathOf(wanted steps.Verify) string { return wanted.Source.Bucket + "/" + wanted.Source.Key }
