package attempt_test

import (
	"testing"

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
