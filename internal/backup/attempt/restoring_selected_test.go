package attempt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// An EtcdRestore asks for the newest snapshot before a time, or for a point, and waits for its turn or for a Secret. The retention deleted that snapshot
// meanwhile, because no name of it was in the spec and the status had none yet. The restore then took an older one, or failed for good.
func TestTheSnapshotThatAWaitingRestoreSelectsIsKept(t *testing.T) {
	at := func(hour int) *metav1.Time {
		return &metav1.Time{Time: statetest.T0.Add(time.Duration(hour) * time.Hour)}
	}
	of := func(s v1beta2.SnapshotSelector) v1beta2.EtcdRestoreSpec {
		return v1beta2.EtcdRestoreSpec{EtcdBackup: &v1beta2.BackupReference{Name: "b"}, Select: &s}
	}
	below := func(path string, s v1beta2.SnapshotSelector) v1beta2.EtcdRestoreSpec {
		return v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}}, Select: &s}
	}
	other := of(v1beta2.SnapshotSelector{Before: at(5)})
	other.EtcdBackup.Name = "unknown"
	for name, c := range map[string]struct {
		spec v1beta2.EtcdRestoreSpec
		kept string // of the hours 0 to 7; the rule keeps the newest two
	}{
		"before a time":                   {of(v1beta2.SnapshotSelector{Before: at(5)}), "34567"},
		"a point in time":                 {of(v1beta2.SnapshotSelector{Time: at(4)}), "23467"},
		"a revision":                      {of(v1beta2.SnapshotSelector{Revision: 41}), "34567"},
		"a revision before all snapshots": {of(v1beta2.SnapshotSelector{Revision: 1}), "67"},
		"below the folder":                {below("bucket/dir", v1beta2.SnapshotSelector{Before: at(5)}), "34567"},
		"below the bucket":                {below("bucket", v1beta2.SnapshotSelector{Before: at(5)}), "34567"},
		"below the folder of the series":  {below("bucket/dir/snap.db/ns/b/", v1beta2.SnapshotSelector{Before: at(5)}), "34567"},
		"below another folder":            {below("bucket/dire", v1beta2.SnapshotSelector{Before: at(5)}), "67"},
		"in another bucket":               {below("another", v1beta2.SnapshotSelector{Before: at(5)}), "67"},
		"of another cluster ID":           {of(v1beta2.SnapshotSelector{Before: at(5), ClusterID: "00000000000000aa"}), "67"},
		"of an unknown EtcdBackup":        {other, "67"},
		"the newest one":                  {of(v1beta2.SnapshotSelector{}), "67"},
	} {
		w := attempttest.NewWorld(t)
		w.Store = objstoretest.NewMemory()
		s := statetest.Series(statetest.Keep(10))
		var keys []string
		for hour := range 8 {
			w.Now = statetest.At(at(hour).Time)
			if hour == 7 {
				s = statetest.Series(statetest.Keep(2))
				owner := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID}, Spec: *s.Spec.DeepCopy()}
				w.Secrets = apiWith(t, owner, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rescue"}, Spec: c.spec})
			}
			r := w.Attempt(s)
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
			keys = append(keys, strings.TrimPrefix(r.Snapshot.Path, "bucket/"))
			if hour == 7 && strings.Contains(r.PruneProblem, "rescue") != (c.kept != "67") {
				t.Errorf("%s: the reason is %q: %s", name, r.PruneReason, r.PruneProblem)
			}
		}
		kept := ""
		for hour, key := range keys {
			if slices.Contains(w.Keys(), key) {
				kept += string(rune('0' + hour))
			}
		}
		if kept != c.kept {
			t.Errorf("%s: the snapshots of the hours %s are kept, want %s", name, kept, c.kept)
		}
	}
}
