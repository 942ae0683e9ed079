package attempt_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// restoreOf returns an EtcdRestore that has verified a snapshot.
func restoreOf(namespace, bucket, key, ended string) *v1beta2.EtcdRestore {
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rescue"}}
	r.Status.Source = &v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: bucket, Key: key}
	if ended != "" {
		r.Status.Conditions = []metav1.Condition{{Type: ended, Status: metav1.ConditionTrue}}
	}
	return r
}

// A restore waits, for example because the cluster is paused. If the retention deleted its snapshot, the data that the user wants back would be
// gone.
func TestTheSnapshotOfARestoreThatHasNotEndedIsKept(t *testing.T) {
	refuses := errors.New("refused")
	for name, c := range map[string]struct {
		restore func(key string) *v1beta2.EtcdRestore
		list    error
		kept    bool
	}{
		"it waits":                       {func(key string) *v1beta2.EtcdRestore { return restoreOf("ns", "bucket", key, "") }, nil, true},
		"it is complete":                 {func(key string) *v1beta2.EtcdRestore { return restoreOf("ns", "bucket", key, "Complete") }, nil, false},
		"it has failed":                  {func(key string) *v1beta2.EtcdRestore { return restoreOf("ns", "bucket", key, "Failed") }, nil, false},
		"it restores from another one":   {func(string) *v1beta2.EtcdRestore { return restoreOf("ns", "bucket", "other.db", "") }, nil, false},
		"it is in another namespace":     {func(key string) *v1beta2.EtcdRestore { return restoreOf("other", "bucket", key, "") }, nil, false},
		"it restores from another store": {func(key string) *v1beta2.EtcdRestore { return restoreOf("ns", "another", key, "") }, nil, false},
		"the list is refused":            {func(key string) *v1beta2.EtcdRestore { return restoreOf("ns", "bucket", key, "Failed") }, refuses, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t)
			s := statetest.Series(statetest.Keep(1))
			first := w.Attempt(s)
			if first.Failure != nil {
				t.Fatal(first.Failure)
			}
			key := strings.TrimPrefix(first.Snapshot.Path, "bucket/")
			api := apiWith(t, c.restore(key)).(client.WithWatch)
			w.Secrets = interceptor.NewClient(api, interceptor.Funcs{List: func(ctx context.Context, under client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if c.list != nil {
					return c.list
				}
				return under.List(ctx, list, options...)
			}})
			w.Now = statetest.At(statetest.T0.Add(time.Hour))
			r := w.Attempt(s)
			if kept := slices.Contains(w.Keys(), key); r.Failure != nil || kept != c.kept {
				t.Errorf("kept %v, failure %v, problem %q", kept, r.Failure, r.PruneProblem)
			}
			if c.kept != (r.PruneReason == v1beta2.ReasonSnapshotsKept) {
				t.Errorf("the reason is %q: %s", r.PruneReason, r.PruneProblem)
			}
		})
	}
}

// With deletionPolicy Delete, the EtcdBackup waits until the restore has ended, or gives up after its limit and leaves the snapshot. Then its last
// event must not advise to delete what the restore needs, nor say that all snapshots are left.
func TestADeletedEtcdBackupKeepsTheSnapshotOfARestore(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series()
	w.Attempt(s)
	w.Now = statetest.At(statetest.T0.Add(time.Hour))
	r := w.Attempt(s)
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	key := strings.TrimPrefix(r.Snapshot.Path, "bucket/")
	w.Secrets = apiWith(t, restoreOf("ns", "bucket", key, ""))
	o := state.JobSpecOf(s)
	o.Kind = state.KindPurge
	purged := w.Run(t.Context(), o, &queue.Progress{})
	if purged.Failure == nil || !strings.Contains(purged.Failure.Message, "rescue") {
		t.Errorf("the failure is %v", purged.Failure)
	}
	if left := w.Keys(); !slices.Equal(left, []string{key, key + ".json"}) {
		t.Errorf("these objects are left: %q", left)
	}
	s.Deleting, s.Held, s.Spec.DeletionPolicy = true, true, v1beta2.DeletionDelete
	purged.EndedAt = s.Now
	s.Attempt = &state.Attempt{Kind: state.KindPurge, Generation: s.Generation, Number: 1, StartedAt: s.Now, Result: &purged}
	for after, want := range map[time.Duration]string{
		time.Minute:                   "because EtcdRestore rescue restores it. The other snapshots are deleted. The operator waits for the end of the restore",
		plan.PurgeLimit + time.Minute: "The operator has waited for 10m0s, and does not delete it any more. Delete it when the restore has ended.",
	} {
		s.DeletedAt, s.DeletingFor = s.Now.Add(-after), after
		step, _ := plan.Plan(s)
		says := plan.Describe(step, s).Message
		for _, event := range plan.Describe(step, s).Events {
			says += event.Note
		}
		if !strings.Contains(says, want) || strings.Contains(says, "not deleted") || strings.Contains(says, "still in the store") {
			t.Errorf("%s after the deletion, %T says: %s", after, step, says)
		}
	}
}
