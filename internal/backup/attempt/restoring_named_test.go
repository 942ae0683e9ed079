package attempt_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A user names an old snapshot in an EtcdRestore, which waits for its turn to read it, or for a Secret. The retention deleted the snapshot meanwhile,
// because no status named it yet.
func TestTheSnapshotThatARestoreNamesIsKeptBeforeItIsVerified(t *testing.T) {
	named := func(snapshot string) v1beta2.EtcdRestoreSpec {
		return v1beta2.EtcdRestoreSpec{EtcdBackup: &v1beta2.BackupReference{Name: "nightly", Snapshot: snapshot}}
	}
	at := func(path string) v1beta2.EtcdRestoreSpec {
		return v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}}}
	}
	for name, c := range map[string]struct {
		spec func(key string) v1beta2.EtcdRestoreSpec
		kept bool
	}{
		"by its path in the status":   {func(key string) v1beta2.EtcdRestoreSpec { return named("bucket/" + key) }, true},
		"by its key":                  {named, true},
		"by its last part":            {func(key string) v1beta2.EtcdRestoreSpec { return named(path.Base(key)) }, true},
		"by a path of its own":        {func(key string) v1beta2.EtcdRestoreSpec { return at("bucket/" + key) }, true},
		"another one":                 {func(string) v1beta2.EtcdRestoreSpec { return named("20200101T000000Z-00000000000000000001.db") }, false},
		"the newest one":              {func(string) v1beta2.EtcdRestoreSpec { return named("") }, false},
		"one in another bucket":       {func(key string) v1beta2.EtcdRestoreSpec { return at("another/" + key) }, false},
		"a storage that is not known": {func(string) v1beta2.EtcdRestoreSpec { return v1beta2.EtcdRestoreSpec{BackupStorageType: "X"} }, false},
	} {
		w := attempttest.NewWorld(t)
		s := statetest.Series(statetest.Keep(1))
		first := w.Attempt(s)
		if first.Failure != nil {
			t.Fatal(first.Failure)
		}
		key := strings.TrimPrefix(first.Snapshot.Path, "bucket/")
		w.Secrets = apiWith(t, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rescue"}, Spec: c.spec(key)})
		w.Now = statetest.At(statetest.T0.Add(time.Hour))
		r := w.Attempt(s)
		if kept := slices.Contains(w.Keys(), key); r.Failure != nil || kept != c.kept {
			t.Errorf("%s: kept %t, failure %v, problem %q", name, kept, r.Failure, r.PruneProblem)
		}
		if c.kept && !strings.Contains(r.PruneProblem, "rescue") {
			t.Errorf("%s: the reason is %q: %s", name, r.PruneReason, r.PruneProblem)
		}
	}
}
