package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
)

// A status that counts the archive of another history says that a restore loses nothing, although it does.
func TestARestoreReportsWhatTheArchiveOfTheOldClusterHas(t *testing.T) {
	ready := metav1.NewTime(now)
	at := func(revision int64, d time.Duration) v1beta2.RecoverablePoint {
		return v1beta2.RecoverablePoint{Revision: revision, Time: metav1.NewTime(now.Add(d))}
	}
	old := v1beta2.RecoverableRange{Timeline: 2, From: at(10, -time.Hour), To: at(90, time.Second)}
	for name, test := range map[string]struct {
		ranges []v1beta2.RecoverableRange
		want   int64
	}{
		"no archive":                               {nil, 0},
		"the archive of the old cluster":           {[]v1beta2.RecoverableRange{old}, 90},
		"and the restored cluster has one already": {[]v1beta2.RecoverableRange{old, {Timeline: 3, From: at(5000, time.Second), To: at(6000, time.Minute)}}, 90},
		"an earlier history had more revisions":    {[]v1beta2.RecoverableRange{{Timeline: 1, From: at(1, -2*time.Hour), To: at(7000, -time.Hour)}, old}, 90},
		"the archive ended before":                 {[]v1beta2.RecoverableRange{{Timeline: 1, From: at(1, -2*time.Hour), To: at(7000, -time.Hour)}}, 0},
	} {
		s := given(withProven, withProgress(v1beta2.RestoreGrowing))
		s.Cluster.Status.Restore.SeedReadyTime, s.Cluster.Status.Restore.UnsavedRevisions = &ready, ptr.To(int64(3))
		s.Backups = []v1beta2.EtcdBackup{{Status: v1beta2.EtcdBackupStatus{Recoverable: test.ranges}}, {}}
		status := status.New(s, next(s), nil)
		if status.ArchivedRevision != test.want || status.UnsavedRevisions == nil || *status.UnsavedRevisions != 3 {
			t.Errorf("%s: archived is %d, want %d; unsaved is %v", name, status.ArchivedRevision, test.want, status.UnsavedRevisions)
		}
	}
}
