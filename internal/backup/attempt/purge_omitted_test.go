package attempt_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// An EtcdBackup with deletionPolicy Delete was deleted. The listing omitted the start of a timeline, so its owner counted as unknown. The operator
// reported that all is deleted and released the EtcdBackup, and the timeline stayed in the bucket for good. That of another EtcdBackup must stay.
func TestATimelineWhoseStartIsOmittedIsDeletedWithItsEtcdBackup(t *testing.T) {
	for name, test := range map[string]struct {
		writer string
		fault  objstoretest.Fault
		left   int // objects
		fails  bool
	}{
		"the listing is whole":                         {"u", 0, 0, false},
		"the listing omits the start":                  {"u", objstoretest.Omitted, 0, false},
		"the listing omits that of another EtcdBackup": {"another", objstoretest.Omitted, 3, false},
		"there is no start":                            {"u", objstoretest.Gone, 3, false},
		"the store does not say whose it is":           {"u", objstoretest.Omitted | objstoretest.Lost, 3, true},
		"the store refuses to say whose it is":         {"u", objstoretest.Omitted | objstoretest.Cold, 3, true},
	} {
		w, m := attempttest.NewWorld(t), objstoretest.NewMemory()
		w.Store = m
		s := statetest.ArchivingState(t)
		o := state.JobSpecOf(s)
		root := o.ArchiveRoot()
		start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 5, At: statetest.T0}}, "test")
		if start.Writer = test.writer; test.writer == "u" {
			start.Writer = o.AttemptPrefix()
		}
		m.Place(archive.StartKey(root, 1), start.Encode())
		m.Place(archive.LinkKey(root, 1, statetest.T0, 6), []byte("{"))
		m.Place(archive.LinkKey(root, 1, statetest.T0, 7), []byte("{"))
		m.Set(archive.StartKey(root, 1), test.fault)
		r := w.Purges(s)
		m.Set(archive.StartKey(root, 1), 0)
		if left := len(m.Keys()); left != test.left || (r.Failure != nil) != test.fails {
			t.Errorf("%s: %d objects are left, want %d; failure %v", name, left, test.left, r.Failure)
		}
	}
}

// An EtcdRestore to a point waits for its turn. The EtcdBackup with deletionPolicy Delete is deleted meanwhile. Its snapshots were kept for the restore, and
// the segments that lead to the point were deleted.
func TestTheArchiveOfADeletedEtcdBackupIsKeptForAWaitingRestore(t *testing.T) {
	for name, test := range map[string]struct {
		by   v1beta2.SnapshotSelector
		left int
	}{
		"to a point":    {v1beta2.SnapshotSelector{Revision: 7}, 2},
		"of a snapshot": {v1beta2.SnapshotSelector{}, 0},
	} {
		w, m := attempttest.NewWorld(t), objstoretest.NewMemory()
		w.Store = m
		s := statetest.ArchivingState(t)
		s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
		o := state.JobSpecOf(s)
		spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: o.Target.Bucket}}, Select: &test.by}
		w.Secrets = apiWith(t, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "rescue"}, Spec: spec})
		start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 5, At: statetest.T0}}, "test")
		start.Writer = o.AttemptPrefix()
		m.Place(archive.StartKey(o.ArchiveRoot(), 1), start.Encode())
		m.Place(archive.LinkKey(o.ArchiveRoot(), 1, statetest.T0, 6), []byte("{"))
		r := w.Purges(s)
		if left := len(m.Keys()); left != test.left || (r.Failure != nil && strings.Contains(r.Failure.Message, "rescue")) != (test.left > 0) {
			t.Errorf("%s: %d objects are left, want %d; failure %v", name, left, test.left, r.Failure)
		}
	}
}
