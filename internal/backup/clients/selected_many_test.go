package clients

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// A tenant let 2000 EtcdRestores wait, and the server of his store listed 50,000 snapshots. For each EtcdRestore all names were parsed and sorted four times, again
// for each hundred deletions, and no cancellation ended that. So a deletion held its worker for hours, and those of a few namespaces held all of them.
func TestManyWaitingRestoresAreComparedWithManySnapshotsInTime(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	o := state.JobSpec{Namespace: "ns", Cluster: "c"}
	o.Target.Bucket = "bucket"
	var names []string
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 50_000 {
		names = append(names, o.SeriesOf(1).Key(begin.Add(time.Duration(n)*time.Minute), int64(n)))
	}
	var restores []client.Object
	for n := range 2000 {
		by := &v1beta2.SnapshotSelector{Revision: int64(n + 40_000)}
		if n%2 == 0 {
			by = &v1beta2.SnapshotSelector{Before: &metav1.Time{Time: begin.Add(time.Duration(n+40_000) * time.Minute)}}
		}
		spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket"}}, Select: by}
		restores = append(restores, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("r%d", n)}, Spec: spec})
	}
	c := &Clients{Secrets: fake.NewClientBuilder().WithScheme(scheme).WithObjects(restores...).Build()}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started := time.Now()
	needs, err := c.Needs(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := needs.Unneeded(ctx, "bucket", names, names, func(string) bool { return true })
	t.Logf("%d may be deleted after %s", len(free), time.Since(started))
	if err != nil || ctx.Err() != nil {
		t.Errorf("after 30 s: %v", err)
	}
}

// Before each hundred deletions of an archive, each EtcdRestore that waits was compared with each other one, which took minutes for tens of thousands.
func TestManyWaitingRestoresAreComparedWithTheKnownOnesInTime(t *testing.T) {
	var selections []Selection
	for n := range 50_000 {
		selections = append(selections, Selection{Restore: fmt.Sprintf("restore-%05d", n), Point: true})
	}
	began := time.Now()
	if SelectMore(selections, slices.Clone(selections)) {
		t.Error("a known one is new")
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	later := slices.Clone(selections)
	if later[10].revision = 7; !SelectMore(later, selections) {
		t.Error("one that has changed is known")
	}
}
