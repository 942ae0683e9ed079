package clients

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// The places of an EtcdBackup are judged by the folder of its cluster, so that a folder for all namespaces can be shared.
func TestASeriesIsJudgedByTheFolderOfItsCluster(t *testing.T) {
	s := statetest.Cron("0 3 * * *")
	s.Target = storage.Location{Provider: v1beta2.StorageS3, Bucket: "b", Key: "shared"}
	for prefix, want := range map[string]bool{"b/shared/{namespace}/": true, "b/shared/": true, "b/{namespace}/": false, "b/share/": false} {
		if refused := SiteOf(s, s.Target).refused(nil, clientstest.Allowing("*", prefix)); (refused == nil) != want {
			t.Errorf("%s: %+v", prefix, refused)
		}
	}
}
