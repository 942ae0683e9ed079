package archiving

import (
	"context"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// The window was shortened, and 100,000 segments were to be deleted. That takes hours. An EtcdRestore to an old revision was created in between and waited for its
// Secret. The operator deleted all segments that no EtcdRestore had needed before, and the revision was lost.
func TestARestoreThatIsCreatedDuringALongPruningKeepsWhatItNeeds(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).Build()
	w := attempttest.NewKept(t, snapshot.Passed)
	k := &keeper{job: &runner{Clients: &clients.Clients{Now: w.Now, Secrets: api}}, Archiver: &Archiver{spec: Spec{job: w.O}}, store: w, known: catalog.Known{}}
	f, err := inventory.Of(t.Context(), w, w.O, k.known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	k.survey = f.Survey
	if err := k.findOutdated(t.Context(), w.O, f); err != nil || len(k.later) == 0 {
		t.Fatalf("%d are outdated: %v", len(k.later), err)
	}
	spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: w.O.Target.Bucket}}, Select: &v1beta2.SnapshotSelector{Revision: 7}}
	if err := api.Create(t.Context(), &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "late"}, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	before := len(w.Keys())
	if again := k.prune(t.Context()); !again || len(w.Keys()) != before {
		t.Errorf("%d of %d objects are left, and the archive is looked at again: %t", len(w.Keys()), before, again)
	}
}

// undeletable is a store that does not answer deletions.
type undeletable struct{ objstore.Store }

func (undeletable) Delete(context.Context, string) error { return io.ErrUnexpectedEOF }

// The last segments to delete were those that the store had not deleted in an outage. An EtcdRestore that was created in the outage was not looked for any more, so
// the operator deleted what it needs.
func TestARestoreThatIsCreatedWhileTheStoreDeletesNothingKeepsWhatItNeeds(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api, w := fake.NewClientBuilder().WithScheme(scheme).Build(), attempttest.NewKept(t, snapshot.Passed)
	now := w.Now()
	job := &runner{Clients: &clients.Clients{Now: func() time.Time { return now }, Secrets: api}}
	k := &keeper{job: job, Archiver: &Archiver{spec: Spec{job: w.O}}, store: undeletable{w}, known: catalog.Known{}}
	f, err := inventory.Of(t.Context(), w, w.O, k.known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	k.survey = f.Survey
	if err := k.findOutdated(t.Context(), w.O, f); err != nil {
		t.Fatal(err)
	}
	if k.prune(t.Context()); len(k.later) > 0 || len(k.outdated) == 0 {
		t.Fatalf("%d and %d are outdated", len(k.outdated), len(k.later))
	}
	spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: w.O.Target.Bucket}}, Select: &v1beta2.SnapshotSelector{Revision: 7}}
	if err := api.Create(t.Context(), &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "late"}, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	k.store, now = w, now.Add(2*limits.Retry)
	before := len(w.Keys())
	if again := k.prune(t.Context()); !again || len(w.Keys()) != before {
		t.Errorf("%d of %d objects are left, and the archive is looked at again: %t", len(w.Keys()), before, again)
	}
}
