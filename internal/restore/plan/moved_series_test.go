package plan

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The EtcdBackup x saved EtcdCluster c. The user has written d into spec.etcdCluster, and d cannot be saved yet, because it has lost its data. A
// restore of d from EtcdBackup x must not replace its data by that of c.
func TestARestoreTakesNoSnapshotOfTheClusterThatAnEtcdBackupSavedBefore(t *testing.T) {
	for name, selector := range map[string]*v1beta2.SnapshotSelector{"the newest": nil, "select: {}": {}, "a revision": {Revision: 5}} {
		s := savedBy(func(spec *v1beta2.EtcdBackupSpec) { spec.EtcdCluster = &v1beta2.ClusterReference{Name: "d"} })
		s.Restore.Spec.EtcdCluster.Name = "d"
		s.Restore.Spec.Select = selector
		s.Cluster = &v1beta2.EtcdCluster{}
		s.Cluster.Name, s.Cluster.Namespace = "d", "ns"
		wanted, none := wanted(s)
		if wanted.Choice.Prefer != "" {
			t.Errorf("%s: it prefers the cluster ID %s of c", name, wanted.Choice.Prefer)
		}
		if none == nil && strings.Contains(wanted.Source.Key, "/ns/c/") {
			t.Errorf("%s: it reads %s of cluster %s for EtcdCluster d", name, pathOf(wanted), wanted.Choice.Of)
		}
		if got := s.Archived(); got.Timeline != 0 {
			t.Errorf("%s: it takes the end of the archive of c for that of d: %+v", name, got)
		}
	}
}

// The user has written another folder of the same bucket, which has the copies of all snapshots. The cluster is lost, so no snapshot follows. A
// restore must read the copies, because the first folder may be lost.
func TestTheFolderOfTheSpecIsReadAfterAChangeWithinABucket(t *testing.T) {
	s := savedBy(func(spec *v1beta2.EtcdBackupSpec) { spec.S3.Path = "first/copies" })
	s.Restore.Spec.Select = &v1beta2.SnapshotSelector{}
	if wanted, none := wanted(s); none != nil || wanted.Source.Key != "copies/ns/c/" {
		t.Errorf("it reads the folder %q (%+v)", wanted.Source.Key, none)
	}
	if got := s.Archived(); got.Timeline != 0 {
		t.Errorf("it takes the end of the old archive for that of the new one: %+v", got)
	}
}
