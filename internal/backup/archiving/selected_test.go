package archiving

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// An EtcdRestore to a point waits for its turn or for a Secret. The window moved on meanwhile, and the operator deleted the segments that lead to the
// point, so the restore failed for good.
func TestTheSegmentsThatAWaitingRestoreNeedsAreKept(t *testing.T) {
	minutes := func(n int) *metav1.Time {
		return &metav1.Time{Time: statetest.T0.Add(time.Duration(n) * time.Minute)}
	}
	for name, test := range map[string]struct {
		by      v1beta2.SnapshotSelector
		chosen  bool
		deletes bool
	}{
		"a time that the outdated part has":       {v1beta2.SnapshotSelector{Time: minutes(30)}, false, false},
		"a revision that the outdated part has":   {v1beta2.SnapshotSelector{Revision: 7}, false, false},
		"the restore has chosen":                  {v1beta2.SnapshotSelector{Revision: 7}, true, true},
		"a snapshot, which needs no segments":     {v1beta2.SnapshotSelector{Before: minutes(30)}, false, true},
		"a time before all snapshots":             {v1beta2.SnapshotSelector{Time: minutes(-30)}, false, true},
		"a revision of another cluster ID":        {v1beta2.SnapshotSelector{Revision: 7, ClusterID: "00000000000000aa"}, false, true},
		"the newest snapshot of a folder, no one": {v1beta2.SnapshotSelector{}, false, true},
	} {
		w := attempttest.NewKept(t, snapshot.Passed)
		spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: w.O.Target.Bucket}}, Select: &test.by}
		restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: w.O.Namespace, Name: "rescue"}, Spec: spec}
		if test.chosen {
			restore.Status.Source = &v1beta2.RestoreSource{Bucket: w.O.Target.Bucket, Key: "point.db"}
		}
		scheme, err := operator.Scheme()
		if err != nil {
			t.Fatal(err)
		}
		c := &clients.Clients{Now: w.Now, Secrets: fake.NewClientBuilder().WithScheme(scheme).WithObjects(restore).Build()}
		k := &keeper{job: &runner{Clients: c}, Archiver: &Archiver{spec: Spec{job: w.O}}, store: w, known: catalog.Known{}}
		f, err := inventory.Of(t.Context(), w, w.O, k.known)
		if err != nil {
			t.Fatal(err)
		}
		k.survey = f.Survey
		if err := k.findOutdated(t.Context(), w.O, f); err != nil || (len(k.later) > 0) != test.deletes || k.again.IsZero() != test.deletes {
			t.Errorf("%s: %d segments are outdated, another look follows at %s: %v", name, len(k.later), k.again, err)
		}
		f.Survey.Drop()
	}
}

// The API server did not answer. The archive was not pruned then, but it must not look unreadable: the keeper has more to do.
func TestNoSegmentIsDeletedWhileTheWaitingRestoresAreNotKnown(t *testing.T) {
	w := attempttest.NewKept(t, snapshot.Passed)
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("no answer")
	}})
	k := &keeper{job: &runner{Clients: &clients.Clients{Now: w.Now, Secrets: api}}, Archiver: &Archiver{spec: Spec{job: w.O}}, store: w, known: catalog.Known{}}
	f, err := inventory.Of(t.Context(), w, w.O, k.known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	k.survey = f.Survey
	if err := k.findOutdated(t.Context(), w.O, f); err != nil || len(k.later) > 0 || k.again.IsZero() || !strings.Contains(k.view.Unpruned, "no answer") {
		t.Errorf("%d segments are outdated, another look follows at %s: %v; %q", len(k.later), k.again, err, k.view.Unpruned)
	}
}
