package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

const movedKey = "series/ns/c/0000000000000001/20260102T030000Z-00000000000000000009.db"

// savedBy is a restore by an EtcdBackup that saved its newest snapshot into a bucket of https://one.example.com.
func savedBy(change func(*v1beta2.EtcdBackupSpec)) state.State {
	s := state.State{Backup: &v1beta2.EtcdBackup{Spec: v1beta2.EtcdBackupSpec{
		StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "first/series", Endpoint: "https://one.example.com", Region: "east"}},
		EtcdCluster: &v1beta2.ClusterReference{Name: "c"}, BackupPolicy: &v1beta2.BackupPolicy{Schedule: "@daily"},
	}}}
	saved, _ := s.Location()
	s.Backup.Status = v1beta2.EtcdBackupStatus{
		SnapshotStore: saved.Store(), Snapshot: &v1beta2.Snapshot{Path: "first/" + movedKey, SHA256: strings.Repeat("0", 64)},
		Recoverable: []v1beta2.RecoverableRange{{Timeline: 1, To: v1beta2.RecoverablePoint{Revision: 9, Time: metav1.Unix(9, 0)}}},
	}
	s.Restore.Spec.EtcdBackup = &v1beta2.BackupReference{Name: "x"}
	s.Restore.Namespace, s.Backup.Namespace, s.Backup.Name = "ns", "ns", "x"
	change(&s.Backup.Spec)
	return s
}

// Each way of moving an EtcdBackup to a location that does not have the snapshot in its status.
var moves = map[string]func(*v1beta2.EtcdBackupSpec){
	"the bucket was changed":   func(s *v1beta2.EtcdBackupSpec) { s.S3.Path = "second/series" },
	"the endpoint was changed": func(s *v1beta2.EtcdBackupSpec) { s.S3.Endpoint = "https://two.example.com" },
	"the region was changed":   func(s *v1beta2.EtcdBackupSpec) { s.S3.Region = "west" },
	"the provider was changed": func(s *v1beta2.EtcdBackupSpec) {
		s.StorageType, s.Storage = v1beta2.StorageGCS, v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "first/series"}}
	},
}

// The folder of the series is that of the spec, and not that of a snapshot in another store. Otherwise a restore with select: {} finds nothing.
func TestARestoreOfAMovedEtcdBackupConcludesNothingFromItsOldLocation(t *testing.T) {
	for name, move := range moves {
		s := savedBy(func(spec *v1beta2.EtcdBackupSpec) {
			move(spec)
			if spec.S3 != nil {
				spec.S3.Path = strings.Replace(spec.S3.Path, "/series", "/copies", 1)
			} else {
				spec.GCS.Path = "first/copies"
			}
		})
		s.Restore.Spec.Select = &v1beta2.SnapshotSelector{}
		if wanted, none := wanted(s); none != nil || wanted.Source.Key != "copies/ns/c/" {
			t.Errorf("%s: it reads the folder %q (%+v)", name, wanted.Source.Key, none)
		}
		if got := s.Archived(); got.Timeline != 0 {
			t.Errorf("%s: it takes the end of the old archive for that of the new one: %+v", name, got)
		}
		read := v1beta2.Snapshot{Path: "first/" + movedKey, SHA256: strings.Repeat("1", 64)}
		if fail := changed(s, read); fail != nil && !strings.Contains(name, "bucket") {
			t.Errorf("%s: an object of the new store counts as a replaced one: %+v", name, fail)
		}
	}
}

// A decision that reads the snapshot of the status directly forgets that it may be in another store.
func TestDecisionsAskWhetherTheSnapshotOfTheEtcdBackupIsInItsLocation(t *testing.T) {
	allowed := map[string]int{"plan/series.go": 2, "plan/verify.go": 1} // the message, the ID of the cluster, and changed, which asks IsStoreOf
	direct := regexp.MustCompile(`Backup\.Status\.Snapshot\b`)
	files, err := filepath.Glob("../*/*.go") // state, steps, plan and status
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && len(direct.FindAll(text, -1)) > allowed[strings.TrimPrefix(name, "../")] {
			t.Errorf("%s reads Backup.Status.Snapshot: use Location.Newest", name)
		}
	}
}
